"""The abstract interpreter: executes a script over abstract values and writes down the recipe.

It walks LibCST nodes in program order by itself (no metadata, no visitors), resolves names from the imports, and asks the library summaries
what a library's call does. Branches whose test only a run can decide are both executed, each under its path condition; project functions are
interpreted in place; whatever is called nowhere is read at the end with unknown arguments.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import libcst as cst

from lora_lint import libraries
from lora_lint.libraries import python, torch
from lora_lint.recipe.conditions import ALWAYS, NEVER, Among, Condition, Literal, Subject, both, either, negate, unit
from lora_lint.recipe.events import Import, LibraryCall, Loop, Site
from lora_lint.recipe.machine import MAX_DEPTH, STEPS_PER_ENTRY, BudgetError, Frame, GradMode, Machine
from lora_lint.recipe.values import (
    ABSENT,
    FALSE,
    NONE,
    REST,
    SOMEWHERE,
    TRUE,
    Bool,
    Bound,
    Cls,
    Const,
    Cut,
    Device,
    Dict,
    Func,
    Inst,
    Items,
    Method,
    Model,
    Module,
    Obj,
    Phi,
    Ref,
    Scope,
    Seq,
    Slice,
    Sym,
    Tensor,
    Value,
    options,
    phi,
    unknown,
    walk,
)

if TYPE_CHECKING:
    from lora_lint.project import Project
    from lora_lint.source import Source

BUILTINS = frozenset(dir(builtins))
MAX_UNROLL = 8
MAX_BITS = 4000  # Python refuses to turn much larger numbers into text
MISSING = re.compile(r"\b(ImportError|ModuleNotFoundError|AttributeError|TypeError)\b")  # what missing names and keywords raise
FEW = 3
VERSION = re.compile(r"\bversion\b|_version|version_|__version__", re.IGNORECASE)  # a test that tells releases apart
RECURSION_LIMIT = 4000  # calls of the script and of the interpreter share one stack
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b,
    "Subtract": lambda a, b: a - b,
    "Multiply": lambda a, b: a * b if not (isinstance(a, (str, bytes)) or isinstance(b, (str, bytes))) else None,
    "Divide": lambda a, b: a / b,
    "FloorDivide": lambda a, b: a // b,
    "Modulo": lambda a, b: a % b if not isinstance(a, str) else None,
}


def dotted(node: cst.BaseExpression | cst.Attribute | cst.Name | None) -> str:
    """``a.b.c`` for a chain of names, else an empty string."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr.value}" if left else ""
    return ""


class Interpreter(Machine):
    """Executes one script; ``recipe`` holds the result."""

    def __init__(self, source: Source, project: Project | None = None) -> None:
        super().__init__(source)
        self.project = self.recipe.project = project
        self.modules: dict[str, Module] = {}
        self.called: set[int] = set()
        self.scope: Scope = self.module.scope
        self.module.scope.module = self.module
        self.functions: list[Func] = []
        self.classes: list[Cls] = self.recipe.classes
        self.instances: dict[int, Inst] = {}
        self.active: list[int] = []
        self.memo: dict[tuple[Any, ...], Value] = {}
        self.expression_depth = 0
        self.loops = 0
        self.single = False  # whether the last comprehension ran over a list that is known to have one element
        self.frames_of_script = True

    # ================================================================ program
    def run(self) -> None:
        """Execute the module, then everything in it that nothing called."""
        source = self.module.source
        limit = sys.getrecursionlimit()
        if sys.version_info >= (3, 11):  # before, each call took its share of the C stack, which is small on Windows
            sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
        try:
            self.block_of(source.module.body, self.module.scope)
            self.dead, self.pc = "", ALWAYS
            self.frames_of_script = False
            self.uncalled()
        except BudgetError:
            self.recipe.gave_up = "the step budget was used up"
        except RecursionError:
            self.recipe.gave_up = "the calls are nested too deeply"
        finally:
            sys.setrecursionlimit(limit)

    def uncalled(self) -> None:
        """Read trainers' hooks, then functions and methods that nothing called, with unknown arguments."""
        for cls in list(self.classes):
            if cls.module is not self.module or cls.dataclass:
                continue
            self.recipe.entries.append(self.tick())
            inst: Value | None = self.instances.get(id(cls))
            if inst is None:
                inst = self.fresh(lambda cls=cls: self.symbolic_instance(cls))  # type: ignore[misc]
            if isinstance(inst, Inst):
                for base in cls.mro():
                    for func in [v for v in list(base.slots.values()) if isinstance(v, Func)]:
                        asked = func.name == "forward" and torch.is_module(cls) and self.fed.get(id(func.node), True)
                        if (asked or id(func.node) not in self.called) and func.name != "__init__" and func.module is self.module:
                            self.fresh(lambda func=func, inst=inst: self.entry(func, inst))  # type: ignore[misc]
        for func in list(self.functions):
            if id(func.node) not in self.called and func.owner is None and func.module is self.module:
                self.recipe.entries.append(self.tick())
                self.fresh(lambda func=func: self.entry(func, None))  # type: ignore[misc]

    def fresh(self, thunk: Callable[[], Value]) -> Value:
        """Execute an entry point from the module's final state, without a path condition."""
        self.pc, self.dead, self.modes, self.calls, self.frames, self.depth = ALWAYS, "", [], [], [], 0
        self.active = []
        whole, self.budget = self.budget, min(self.budget, self.recipe.steps + STEPS_PER_ENTRY)
        scope, module, journals = self.scope, self.module, len(self.journals)
        value: Value = NONE
        try:
            value = thunk()
        except BudgetError:
            if self.recipe.steps >= whole:
                raise
            self.recipe.gave_up = "a function was not read to its end"
            self.scope, self.module = scope, module
            del self.journals[journals:]
        self.budget = whole
        self.pc, self.dead, self.modes = ALWAYS, "", []
        return value

    def symbolic_instance(self, cls: Cls) -> Value:
        """An object of a class that nothing instantiates, built with unknown arguments."""
        return self.instantiate(cls, self.symbolic_call(cls.lookup("__init__"), cls.node, skip=1))

    def symbolic_call(self, func: Value | None, node: cst.CSTNode, skip: int = 0) -> Call:
        call = Call(self, node, "")
        if isinstance(func, Func):
            for name, default in self.parameters(func)[skip:]:
                call.kwargs[name] = self.argument(func, name, default)
        return call

    def argument(self, func: Func, name: str, default: Value | None) -> Value:
        """The unknown value of a parameter: a setting of the script, with its default."""
        if isinstance(default, (Seq, Dict, Obj)):
            return default
        known: tuple[object, ...] = (default.value,) if isinstance(default, Const) else ()
        return Sym(Subject(name, declared=True, default=known))

    def entry(self, func: Func, owner: Inst | None) -> Value:
        """Execute a function that nothing in the project calls."""
        call = self.symbolic_call(func, func.node, skip=1 if owner is not None and not func.decorated("staticmethod") else 0)
        hook = libraries.entry_hook(self, func, owner, call)
        value = self.invoke(func, call, owner if not func.decorated("staticmethod") else None)
        if hook is not None:
            hook(value)
        return value

    # ================================================================ statements
    def block_of(self, body: Sequence[cst.CSTNode], scope: Scope) -> None:
        """Execute statements in a scope until one ends the block."""
        before = self.scope, self.block, self.stmt
        self.scope, self.block = scope, id(body)
        for statement in body:
            if self.dead:
                break
            self.step()
            self.statement(statement)
        self.scope, self.block, self.stmt = before

    def suite(self, node: cst.BaseSuite) -> None:
        """Execute an indented block or a one-line suite in the current scope."""
        if isinstance(node, cst.SimpleStatementSuite):
            block, stmt = self.block, self.stmt
            self.block = id(node.body)
            for small in node.body:
                if not self.dead:
                    self.small(small)
            self.block, self.stmt = block, stmt
        else:
            self.block_of(node.body, self.scope)

    def statement(self, node: cst.CSTNode) -> None:
        self.stmt = node
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                if not self.dead:
                    self.small(small)
            return
        handler = getattr(self, "do_" + type(node).__name__, None)
        if handler is not None:
            handler(node)

    def small(self, node: cst.BaseSmallStatement) -> None:
        handler = getattr(self, "do_" + type(node).__name__, None)
        if handler is not None:
            handler(node)

    def do_Expr(self, node: cst.Expr) -> None:
        value = self.eval(node.value)
        if isinstance(value, Obj) and value.kind == "grad_mode" and value.name == "set":
            self.modes.append(GradMode(value.info["mode"], self.site(node)))

    def do_Assign(self, node: cst.Assign) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target.target, value)

    def do_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value))
        elif self.scope.kind == "class" and isinstance(node.target, cst.Name):
            self.store(self.scope.slots, node.target.value, ABSENT)

    def do_AugAssign(self, node: cst.AugAssign) -> None:
        left = self.eval(node.target)
        right = self.eval(node.value)
        if isinstance(left, Seq) and isinstance(right, Seq):
            self.store(left.slots, "items", Items(left.items + right.items))
            if right.rest is not None:
                self.store(left.slots, "rest", right.rest)
            return
        self.assign(node.target, self.binary(type(node.operator).__name__.removesuffix("Assign"), left, right, node))

    def do_Return(self, node: cst.Return) -> None:
        value = self.eval(node.value) if node.value is not None else NONE
        if self.frames:
            self.frames[-1].returns.append((self.pc, value))
        self.dead = "return"

    def do_Raise(self, node: cst.Raise) -> None:
        if node.exc is not None:
            self.eval(node.exc)
        self.dead = "raise"

    def do_Continue(self, node: cst.Continue) -> None:
        self.dead = "loop"

    def do_Assert(self, node: cst.Assert) -> None:
        self.eval(node.test)

    def do_Del(self, node: cst.Del) -> None:
        targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
        for target in targets:
            if isinstance(target, cst.Name):
                slots = self.scope.find(target.value)
                if slots is not None and target.value in slots:
                    self.store(slots, target.value, unknown(target.value))
            elif isinstance(target, cst.Attribute):
                self.each(self.eval(target.value), lambda o, t=target: self.set_attribute(o, t.attr.value, ABSENT, t))  # type: ignore[misc]
            elif isinstance(target, cst.Subscript):
                holder, key = self.eval(target.value), self.index(target)
                if isinstance(holder, Dict) and isinstance(key, Const):
                    self.store(holder.slots, key.value, ABSENT)

    def do_Global(self, node: cst.Global) -> None:
        self.scope.globals.update(n.name.value for n in node.names)

    def do_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.scope.nonlocals.update(n.name.value for n in node.names)

    def do_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            full = dotted(alias.name)
            value: Value = self.imported(full, 0) or Ref(full)
            if isinstance(value, Ref):
                self.recipe.imports.append(Import(full, full, self.site(alias), self.pc, bool(self.guards)))
            if alias.asname is not None:
                self.bind(cast(cst.Name, alias.asname.name).value, value)
            else:
                first = full.partition(".")[0]
                held = self.scope.slots.get(first)
                if not isinstance(held, Ref) or held.name != first:
                    self.bind(first, self.imported(first, 0) or Ref(first))

    def do_ImportFrom(self, node: cst.ImportFrom) -> None:
        base = dotted(node.module)
        level = len(node.relative)
        module = self.imported(base, level)
        if module is None and not level:
            names = [] if isinstance(node.names, cst.ImportStar) else list(node.names)
            for alias in names:
                self.recipe.imports.append(Import(f"{base}.{dotted(alias.name)}", base, self.site(alias), self.pc, bool(self.guards)))
            if not names:
                self.recipe.imports.append(Import(base, base, self.site(node), self.pc, bool(self.guards)))
        if isinstance(node.names, cst.ImportStar):
            if isinstance(module, Module):
                for name, value in list(module.scope.slots.items()):
                    if not str(name).startswith("_"):
                        self.bind(name, value)
            return
        for alias in node.names:
            name = dotted(alias.name)
            local = cast(cst.Name, alias.asname.name).value if alias.asname is not None else name
            if module is not None:
                found = module.scope.slots.get(name) or self.imported(f"{base}.{name}" if base else name, level)
                self.bind(local, found if found is not None else unknown(local))
            else:
                self.bind(local, Ref(f"{'.' * level}{base}.{name}"))

    def imported(self, name: str, level: int) -> Module | None:
        """A module of the same project, executed once; ``None`` for everything else."""
        if self.project is None or (level == 0 and libraries.known_root(name.partition(".")[0])):
            return None
        source = self.project.resolve(name, level, self.module.source)
        if source is None or source.path == self.module.source.path:
            return None
        found = self.modules.get(source.path)
        if found is None:
            found = self.modules[source.path] = Module(name, source)
            found.scope.module = found
            if len(self.modules) > 40:
                return found
            try:
                tree = source.module
            except Exception:  # a module that cannot be read is a module that we cannot see
                return found
            before = self.module, self.scope, self.pc, self.dead, self.stmt, self.frames, self.modes, self.depth
            self.module, self.pc, self.dead, self.frames, self.modes = found, ALWAYS, "", [], []
            self.depth += 1
            try:
                if self.depth < MAX_DEPTH:
                    self.block_of(tree.body, found.scope)
            finally:  # the budget may end here, too
                self.module, self.scope, self.pc, self.dead, self.stmt, self.frames, self.modes, self.depth = before
        return found

    def do_FunctionDef(self, node: cst.FunctionDef) -> None:
        func = self.function(node.name.value, node)
        for d in node.decorators:
            value = self.eval(d.decorator)
            func.decorators.append((value, d))
        wrapped: Value = func
        for value, _ in reversed(func.decorators):
            if isinstance(value, Func) and isinstance(value.node, cst.FunctionDef):
                call = Call(self, node, value.name)
                call.args = [wrapped]
                made = self.invoke(value, call, None)
                if isinstance(made, (Func, Method)):
                    self.called.add(id(node))
                    wrapped = made
        if self.scope.kind == "class" or self.module is self.modules.get("", self.module):
            self.functions.append(func)
        self.bind(node.name.value, wrapped)

    def function(self, name: str, node: cst.FunctionDef | cst.Lambda) -> Func:
        func = Func(name, node, self.scope, self.module)
        for p in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params):
            if p.default is not None:
                func.defaults[p.name.value] = self.eval(p.default)
        return func

    def do_ClassDef(self, node: cst.ClassDef) -> None:
        cls = Cls(node.name.value, node, self.module)
        cls.bases = [self.eval(a.value) for a in node.bases if a.star == ""]
        decorators = [self.eval(d.decorator) for d in node.decorators]
        cls.dataclass = (
            any(isinstance(d, Ref) and d.leaf in ("dataclass", "define", "frozen") for d in decorators)
            or any(isinstance(d, Obj) and d.name.rpartition(".")[2] in ("dataclass", "define", "frozen") for d in decorators)
            or any(b.name.rpartition(".")[2] in ("BaseModel", "NamedTuple") for b in cls.bases if isinstance(b, Ref))
        )
        scope = Scope(self.scope, cls.slots, "class", module=self.module)
        self.suite_in(node.body, scope)
        for value in cls.slots.values():
            if isinstance(value, Func):
                value.owner = cls
        for base in reversed(list(cls.mro())):
            for s in base.node.body.body if isinstance(base.node.body, cst.IndentedBlock) else ():
                for small in s.body if isinstance(s, cst.SimpleStatementLine) else ():
                    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name) and small.target.value not in cls.fields:
                        cls.fields.append(small.target.value)
        self.classes.append(cls)
        self.bind(node.name.value, cls)

    def suite_in(self, node: cst.BaseSuite, scope: Scope) -> None:
        before = self.scope
        self.scope = scope
        self.suite(node)
        self.scope = before

    def do_If(self, node: cst.If) -> None:
        true, false = self.test(node.test)
        if true == ALWAYS:
            typing = dotted(node.test).rpartition(".")[2] == "TYPE_CHECKING"
            self.guards += typing
            self.suite(node.body)
            self.guards -= typing
            return

        def otherwise() -> Value:
            if isinstance(node.orelse, cst.If):
                stmt = self.stmt
                self.do_If(node.orelse)
                self.stmt = stmt
            elif node.orelse is not None:
                self.suite(node.orelse.body)
            return NONE

        def then() -> Value:
            self.suite(node.body)
            return NONE

        if frozenset() in true:
            otherwise()
            return
        asks = VERSION.search(self.text(node.test)) is not None
        self.guards += asks
        self.branch([(true, then), (false, otherwise)])
        self.guards -= asks

    def do_For(self, node: cst.For) -> None:
        iterable = self.eval(node.iter)
        stmt = self.stmt

        def body(element: Value) -> None:
            self.stmt = stmt
            self.assign(node.target, element)
            self.loop_body(node.body, turns=not known)

        elements = self.elements(iterable, node.iter)
        # The elements of a sequence that is known to its end get a turn each, or are one.
        known = isinstance(iterable, Seq) and iterable.rest is None and len(iterable.elements()) == len(elements)
        for element in elements:
            body(element)
            if self.dead:
                break
        self.dead = "" if self.dead == "loop" else self.dead
        if node.orelse is not None and not self.dead:
            self.suite(node.orelse.body)

    def do_While(self, node: cst.While) -> None:
        true, _ = self.test(node.test)
        if frozenset() not in true:
            self.loop_body(node.body, turns=True)

    def loop_body(self, node: cst.BaseSuite, *, turns: bool) -> None:
        """One turn of a loop; what it narrows or ends holds for the turn only. ``turns``: whether more may follow."""
        before, start, outer = self.pc, self.order, self.loop
        self.loops += 1
        self.loop = node
        self.suite(node)
        self.loop = outer
        self.loops -= 1
        if turns and not self.dead and self.pc == before:
            self.recipe.loops.append(Loop(start, self.order + 1))
        self.pc, self.dead = before, "" if self.dead in ("loop", "return", "raise") else self.dead

    def do_With(self, node: cst.With) -> None:
        modes = len(self.modes)
        leaving: list[Callable[[], None]] = []
        for item in node.items:
            value = self.eval(item.item)
            entered = value
            if isinstance(value, Obj) and value.kind == "grad_mode":
                self.modes.append(GradMode(value.info["mode"], self.site(item)))
            elif isinstance(value, Obj) and value.kind == "generator":
                self.modes.extend(value.info.get("modes", ()))
                entered = value.slots["element"]
            elif isinstance(value, Obj):
                leave = libraries.enter(self, value, item)
                if leave is not None:
                    leaving.append(leave)
                entered = value.slots.get("__enter__", value)
            elif isinstance(value, Inst) and isinstance(enter := value.cls.lookup("__enter__"), Func):
                entered = self.invoke(enter, Call(self, item, "__enter__"), value)
            elif isinstance(value, Seq):
                entered = value.elements()[0] if value.elements() else value
            if item.asname is not None:
                self.assign(item.asname.name, entered)
        self.suite(node.body)
        for leave in leaving:
            leave()
        del self.modes[modes:]

    def do_Try(self, node: cst.Try | cst.TryStar) -> None:
        flag = Subject("an exception is caught", declared=True, default=(False,))
        true, false = unit(Literal(flag, Among(frozenset((True,))))), unit(Literal(flag, Among(frozenset((True,))), positive=False))
        body = node.body.body if isinstance(node.body, cst.IndentedBlock) else ()
        plain = bool(body) and all(
            isinstance(s, cst.SimpleStatementLine) and all(isinstance(x, (cst.Import, cst.ImportFrom, cst.Pass)) for x in s.body) for s in body
        )
        catches = any(self.catches(handler, len(body)) for handler in node.handlers)
        self.guards += catches
        self.caught += bool(node.handlers)
        self.suite(node.body)
        self.caught -= bool(node.handlers)
        if node.orelse is not None and not self.dead:
            self.suite(node.orelse.body)
        ended = self.dead
        for handler in node.handlers if not plain else ():
            self.dead = ""

            def handle(handler: cst.ExceptHandler | cst.ExceptStarHandler = handler) -> Value:
                if handler.name is not None:
                    self.assign(handler.name.name, unknown("exception"))
                self.suite(handler.body)
                return NONE

            self.branch([(false, lambda: NONE), (true, handle)])
            if not ended:
                self.dead = ""
        self.guards -= catches
        self.dead = ended if ended != "raise" or plain or not node.handlers else ""
        if node.finalbody is not None:
            dead, self.dead = self.dead, ""
            self.suite(node.finalbody.body)
            self.dead = dead or self.dead

    def catches(self, handler: cst.ExceptHandler | cst.ExceptStarHandler, statements: int) -> bool:
        """Whether a handler is there for a name or keyword that a release lacks: it says so, or catches everything around very little."""
        last = handler.body.body[-1] if isinstance(handler.body, cst.IndentedBlock) and handler.body.body else None
        if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise):
            return False
        text = self.text(handler.type) if handler.type is not None else "Exception"
        return bool(MISSING.search(text)) or (statements <= FEW and "Exception" in text)

    do_TryStar = do_Try

    def do_Match(self, node: cst.Match) -> None:
        subject = self.eval(node.subject)
        taken: list[tuple[Condition, Callable[[], Value]]] = []
        rest: Condition = ALWAYS
        for case in node.cases:
            true, false = self.pattern(case.pattern, subject)
            if case.guard is not None:
                guard_true, _ = self.truth(self.eval(case.guard))
                true = both(true, guard_true)
                false = negate(true) or self.opaque(("match", id(case)), "the case")[1]

            def body(case: cst.MatchCase = case) -> Value:
                self.suite(case.body)
                return NONE

            taken.append((both(rest, true), body))
            rest = both(rest, false)
        taken.append((rest, lambda: NONE))
        self.branch(taken)

    def pattern(self, node: cst.MatchPattern, subject: Value) -> tuple[Condition, Condition]:
        if isinstance(node, cst.MatchAs):
            if node.name is not None:
                self.bind(node.name.value, subject)
            return self.pattern(node.pattern, subject) if node.pattern is not None else (ALWAYS, NEVER)
        if isinstance(node, (cst.MatchValue, cst.MatchSingleton)):
            return self.truth(self.compare("Equal", subject, self.eval(node.value), node))
        if isinstance(node, cst.MatchOr):
            parts = [self.pattern(p.pattern, subject) for p in node.patterns]
            true: Condition | None = NEVER
            false: Condition = ALWAYS
            for t, f in parts:
                true = None if true is None else t if true == NEVER else either(true, t)
                false = both(false, f)
            return (true, false) if true is not None else self.opaque(("pattern", id(node)), "the case")
        return self.opaque(("pattern", id(node)), "the case")

    # ================================================================ assignment
    def bind(self, name: str, value: Value) -> None:
        """Set a variable in the scope where Python would set it."""
        scope = self.scope
        slots = scope.slots
        if name in scope.globals and scope.module is not None:
            slots = scope.module.scope.slots
        elif name in scope.nonlocals and scope.parent is not None:
            slots = scope.parent.find(name) or slots
        self.store(slots, name, value)
        for _, v in options(value):
            if isinstance(v, Model) and not v.part and (not v.life.names or v.life.names[-1] != name):
                v.life.names.append(name)

    def assign(self, target: cst.CSTNode, value: Value) -> None:
        if isinstance(target, cst.Name):
            self.bind(target.value, value)
        elif isinstance(target, cst.Attribute):
            owner = self.eval(target.value)
            self.each(owner, lambda o: self.set_attribute(o, target.attr.value, value, target))
        elif isinstance(target, cst.Subscript):
            holder, key = self.eval(target.value), self.index(target)
            self.each(holder, lambda h: self.set_item(h, key, value, target))
        elif isinstance(target, (cst.Tuple, cst.List)):
            self.unpack(target, value)
        elif isinstance(target, cst.StarredElement):
            self.assign(target.value, value)

    def unpack(self, target: cst.Tuple | cst.List, value: Value) -> None:
        elements = target.elements
        star = next((i for i, e in enumerate(elements) if isinstance(e, cst.StarredElement)), None)
        if isinstance(value, Phi) and all(isinstance(v, Seq) and len(v.items) == len(elements) for _, v in value.options):
            columns: list[Value] = [phi([(c, cast(Seq, v).items[i]) for c, v in value.options]) for i in range(len(elements))]
            value = Seq.of(columns, "tuple")
        for i, element in enumerate(elements):
            part: Value
            if (isinstance(value, Seq) and value.rest is None and star is None and i < len(value.items)) or (
                isinstance(value, Seq) and star is not None and i < star < len(value.items)
            ):
                part = value.items[i]
            elif isinstance(value, Seq) and i == star:
                part = Seq.of(list(value.items[i : len(value.items) - (len(elements) - 1 - i)]), "list", value.slots.get("rest"))
            elif isinstance(value, Seq) and star is not None and i > star and value.items:
                part = value.items[i - len(elements)] if len(elements) - i <= len(value.items) else unknown("element")
            elif isinstance(value, (Tensor, Phi)):
                part = self.each(value, lambda v, i=i, element=element: self.item(v, Const(i), element))  # type: ignore[misc]
            elif isinstance(value, Seq) and i < len(value.items):
                part = value.items[i]
            else:
                part = self.item(value, Const(i), element)
            self.assign(element.value, part)

    def set_attribute(self, owner: Value, name: str, value: Value, node: cst.CSTNode) -> Value:
        if isinstance(owner, (Inst, Obj)):
            if isinstance(owner, Obj) and libraries.set_attribute(self, owner, name, value, node):
                return NONE
            self.store(owner.slots, name, value)
            for _, v in options(value):
                if isinstance(v, Model) and not v.part:
                    label = f"self.{name}" if isinstance(owner, Inst) else name
                    if not v.life.names or v.life.names[-1] != label:
                        v.life.names.append(label)
        elif isinstance(owner, (Model, Tensor)):
            libraries.set_attribute(self, owner, name, value, node)
        elif isinstance(owner, Cls):
            self.store(owner.slots, name, value)
        elif isinstance(owner, Sym):
            self.store(cast(Any, self.sym_slots(owner)), name, value)
        return NONE

    def drops(self, node: cst.CSTNode) -> bool:
        """Whether a call is a statement of its own, so that its result is lost."""
        return isinstance(self.stmt, cst.SimpleStatementLine) and any(isinstance(s, cst.Expr) and s.value is node for s in self.stmt.body)

    def sym_slots(self, owner: Sym) -> dict[Any, Value]:
        """Attributes that the script itself set on an unknown object."""
        found = self.__dict__.setdefault("_sym_slots", {})
        return cast("dict[Any, Value]", found.setdefault(id(owner), {"": owner}))

    def set_item(self, holder: Value, key: Value, value: Value, node: cst.CSTNode) -> Value:
        if isinstance(holder, Dict):
            k = key.value if isinstance(key, Const) else REST
            if k == REST and isinstance(value, Tensor):
                for known, held in list(holder.slots.items()):  # a loop over the keys
                    if isinstance(held, Tensor):
                        self.store(holder.slots, known, value)
            self.store(holder.slots, k, value)
            holder.sites[k] = self.site(node)
        elif isinstance(holder, Seq):
            if (
                isinstance(key, Const)
                and isinstance(key.value, int)
                and not isinstance(key.value, bool)
                and -len(holder.items) <= key.value < len(holder.items)
            ):
                items = list(holder.items)
                items[key.value] = value
                self.store(holder.slots, "items", Items(tuple(items)))
            else:
                self.store(holder.slots, "rest", value)
        elif isinstance(holder, (Obj, Tensor)):
            libraries.set_item(self, holder, key, value, node)
        elif isinstance(holder, Ref) and isinstance(key, Const):
            libraries.set_environment(self, holder, key)
        elif isinstance(holder, Sym) and isinstance(key, Const):
            self.store(cast(Any, self.sym_slots(holder)), ("[", key.value), value)
        return NONE

    # ================================================================ expressions
    def eval(self, node: cst.CSTNode) -> Value:
        """The abstract value of an expression, with all effects of its evaluation."""
        self.step()
        handler = getattr(self, "ev_" + type(node).__name__, None)
        if handler is None or self.expression_depth > 90:
            return unknown("expression")
        self.expression_depth += 1
        try:
            return cast(Value, handler(node))
        finally:
            self.expression_depth -= 1

    def ev_Name(self, node: cst.Name) -> Value:
        name = node.value
        if name in ("True", "False", "None"):
            return {"True": TRUE, "False": FALSE, "None": NONE}[name]
        slots = self.scope.find(name)
        if name == "__name__" and slots is None:
            return Const("__main__" if self.module.name == "__main__" else self.module.name)
        if slots is None or name not in slots:  # of a `global` that is bound nowhere yet, or deleted again
            return Ref(f"builtins.{name}") if name in BUILTINS else self.derive(("name", name), name)
        found = slots[name]
        if isinstance(found, Phi) and any(v is ABSENT for _, v in found.options):
            found = phi([(c, v) for c, v in found.options if v is not ABSENT])
        return found

    def ev_SimpleString(self, node: cst.SimpleString) -> Value:
        try:
            return Const(node.evaluated_value)
        except Exception:  # a literal that this Python cannot evaluate
            return unknown("text")

    def ev_ConcatenatedString(self, node: cst.ConcatenatedString) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        if isinstance(left, Const) and isinstance(right, Const) and isinstance(left.value, str) and isinstance(right.value, str):
            return Const(left.value + right.value)
        return unknown("text")

    def ev_FormattedString(self, node: cst.FormattedString) -> Value:
        text, held = "", []
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText):
                text += part.value
            elif isinstance(part, cst.FormattedStringExpression):
                value = self.eval(part.expression)
                held.append(value)
                text += str(value.value) if isinstance(value, Const) and isinstance(value.value, (str, int)) else "\0"
        if "\0" not in text:
            return Const(text)
        return Obj("text", dict(enumerate(held)), info={"prefix": text.partition("\0")[0]})

    def ev_Integer(self, node: cst.Integer) -> Value:
        if len(node.value) > MAX_BITS // 4:
            return unknown("number")
        return Const(node.evaluated_value)

    def ev_Float(self, node: cst.Float) -> Value:
        return Const(node.evaluated_value)

    def ev_Ellipsis(self, node: cst.Ellipsis) -> Value:
        return Const(...)

    def ev_List(self, node: cst.List | cst.Set | cst.Tuple) -> Value:
        items: list[Value] = []
        rest: Value | None = None
        for e in node.elements:
            value = self.eval(e.value)
            if isinstance(e, cst.StarredElement):
                if isinstance(value, Seq):
                    items.extend(value.items)
                    rest = rest or value.rest
                else:
                    rest = self.element(value, e)
            else:
                items.append(value)
        return Seq.of(items, type(node).__name__.lower(), rest)

    ev_Tuple = ev_List
    ev_Set = ev_List

    def ev_Dict(self, node: cst.Dict) -> Value:
        made = Dict()
        for e in node.elements:
            value = self.eval(e.value)
            if isinstance(e, cst.StarredDictElement):
                self.update(made, value, e)
            else:
                key = self.eval(cast(cst.DictElement, e).key)
                k = key.value if isinstance(key, Const) else REST
                made.slots[k] = value
                made.sites[k] = self.site(e)
        return made

    def update(self, target: Dict, value: Value, node: cst.CSTNode) -> None:
        """``dict.update`` or ``**`` into a dictionary."""
        if isinstance(value, Dict):
            for k, v in list(value.slots.items()):
                old = target.slots.get(k)
                if isinstance(v, Phi) and old is not None and any(x is ABSENT for _, x in v.options):
                    v = phi([(c, old if x is ABSENT else x) for c, x in v.options])
                self.store(target.slots, k, v)
                target.sites[k] = value.sites.get(k) or self.site(node)
        elif isinstance(value, Phi):
            self.each(value, lambda v: (self.update(target, v, node), NONE)[1])  # type: ignore[func-returns-value]
        elif isinstance(value, Obj) and value.kind in ("encoding", "batch"):
            self.store(target.slots, REST, libraries.entry_of(self, value))
        elif value is not NONE:
            self.store(target.slots, REST, value if isinstance(value, (Sym, Tensor)) else unknown("entries"))

    def ev_Lambda(self, node: cst.Lambda) -> Value:
        return self.function("<lambda>", node)

    def ev_NamedExpr(self, node: cst.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value)
        return value

    def ev_Await(self, node: cst.Await) -> Value:
        return self.eval(node.expression)

    def ev_Yield(self, node: cst.Yield) -> Value:
        value = node.value
        made = self.element(self.eval(value.item), value) if isinstance(value, cst.From) else self.eval(value) if value is not None else NONE
        if self.frames:
            self.frames[-1].yields.append(made)
            self.frames[-1].modes = self.modes[self.frames[-1].entered :]
        return unknown("sent")

    def ev_IfExp(self, node: cst.IfExp) -> Value:
        true, false = self.test(node.test)
        return self.branch([(true, lambda: self.eval(node.body)), (false, lambda: self.eval(node.orelse))])

    def ev_BooleanOperation(self, node: cst.BooleanOperation) -> Value:
        left = self.eval(node.left)
        true, false = self.truth(left)
        if isinstance(node.operator, cst.And):
            if frozenset() in true:
                return left
            right = self.branch([(true, lambda: self.eval(node.right))]) if true != ALWAYS else self.eval(node.right)
            if true == ALWAYS:
                return right
            r_true, r_false = self.truth(right)
            if isinstance(right, (Const, Sym, Bool, Phi)) and isinstance(left, (Const, Sym, Bool, Phi)):
                both_true = both(true, r_true)
                joined = either(false, both(true, r_false)) if len(r_false) <= 3 else None
                simple = negate(both_true)
                return Bool(
                    both_true, simple if simple is not None else joined if joined is not None else self.opaque(self.text(node), self.text(node))[1]
                )
            return phi([(true, right), (false, left)])
        if true == ALWAYS:
            return left
        right = self.branch([(false, lambda: self.eval(node.right))]) if false != ALWAYS else self.eval(node.right)
        if frozenset() in true:
            return right
        r_true, r_false = self.truth(right)
        if isinstance(left, Bool) or (isinstance(right, Bool) and isinstance(left, Sym)):
            joined = either(true, r_true)
            if joined is not None:
                return Bool(joined, both(false, r_false))
        return phi([(true, left), (false, right)])

    def ev_UnaryOperation(self, node: cst.UnaryOperation) -> Value:
        if isinstance(node.operator, cst.Not):
            true, false = self.test(node.expression)
            return FALSE if true == ALWAYS else TRUE if false == ALWAYS else Bool(false, true)
        value = self.eval(node.expression)
        if isinstance(node.operator, cst.Minus) and isinstance(value, Const) and isinstance(value.value, (int, float)):
            return Const(-value.value)
        return self.each(
            value, lambda v: self.combine([v], node) if isinstance(v, Tensor) else unknown("number", tensor=isinstance(v, Sym) and v.tensor)
        )

    def ev_BinaryOperation(self, node: cst.BinaryOperation) -> Value:
        return self.binary(type(node.operator).__name__, self.eval(node.left), self.eval(node.right), node)

    def binary(self, operator: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
        if isinstance(left, Const) and isinstance(right, Const) and operator in BINARY:
            try:
                made = BINARY[operator](left.value, right.value)
            except Exception:  # the script would raise here too
                made = None
            if isinstance(made, int) and made.bit_length() > MAX_BITS:
                return unknown("number")
            if isinstance(made, (int, float)) or (isinstance(made, str) and len(made) < 10_000):
                return Const(made)
        if isinstance(left, Seq) and isinstance(right, Seq) and operator == "Add":
            rest = left.rest if left.rest is not None else right.rest
            return Seq.of([*left.items, *right.items], left.kind, rest)
        if operator == "Add" and python.tells(left, right):
            return Obj("text", {0: left, 1: right}, info={"prefix": ""})
        if isinstance(left, Dict) and isinstance(right, Dict) and operator == "BitOr":
            made_dict = Dict(dict(left.slots), dict(left.sites))
            self.update(made_dict, right, node)
            return made_dict
        joined = isinstance(left, Phi) or isinstance(right, Phi)
        if joined and any(isinstance(v, Tensor) for side in (left, right) for _, v in options(side)):
            return self.each(left, lambda a: self.each(right, lambda b: self.binary(operator, a, b, node)))
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            made_tensor = self.combine([left, right], node)
            return torch.weighed(self, made_tensor, [left, right]) if operator == "MatrixMultiply" else made_tensor
        if any(isinstance(v, Tensor) for side in (left, right) for v in walk(side)):
            return self.combine([left, right], node)
        if isinstance(left, Sym) and isinstance(right, (Const, Sym)) and not (isinstance(right, Sym) and "rank" not in left.text.lower()):
            right = right if isinstance(right, Const) else NONE
            return self.derive((operator, id(left.subject), right), f"{left.text}…", tensor=left.tensor)
        return unknown("number", tensor=any(isinstance(v, Sym) and v.tensor for v in (left, right)))

    def ev_Comparison(self, node: cst.Comparison) -> Value:
        left = self.eval(node.left)
        result: Value | None = None
        for target in node.comparisons:
            right = self.eval(target.comparator)
            made = self.compare(type(target.operator).__name__, left, right, node)
            if result is None:
                result = made
            elif isinstance(result, Tensor):
                pass
            else:
                true, _false = self.truth(result)
                r_true, _ = self.truth(made)
                joined = both(true, r_true)
                result = Bool(joined, negate(joined) or self.opaque(self.text(node), self.text(node))[1])
            left = right
        return result or unknown("test")

    def compare(self, operator: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
        """The value of a comparison; tests of one unknown value against literals become literals of the path condition."""
        if isinstance(left, Phi):
            return self.compared(left, lambda v: self.compare(operator, v, right, node))
        if isinstance(right, Phi):
            return self.compared(right, lambda v: self.compare(operator, left, v, node))
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if operator in ("Is", "IsNot"):
                return FALSE if operator == "Is" else TRUE
            if operator not in ("In", "NotIn"):
                return torch.compared(self, operator, left, right, node)
        if operator in ("LessThan", "LessThanEqual"):  # written as the opposite, so that `n > 1` and `n <= 1` exclude each other
            true, false = self.truth(self.compare("GreaterThanEqual" if operator == "LessThan" else "GreaterThan", left, right, node))
            return Bool(false, true)
        negative = operator in ("NotEqual", "IsNot", "NotIn")
        if operator in ("Equal", "Is", "NotEqual", "IsNot"):
            if isinstance(right, Sym) and isinstance(left, Const):
                left, right = right, left
            if isinstance(left, Const) and isinstance(right, Const):
                return Const((left == right) is not negative)
            if isinstance(left, Bool) and isinstance(right, Const) and isinstance(right.value, bool):
                same = right.value is not negative
                return left if same else Bool(left.false, left.true)
            if isinstance(right, Const) and isinstance(left, Sym):
                return self.tested(left, frozenset((right.value,)), negative)
            if isinstance(left, Ref) and isinstance(right, Ref) and left == right:
                return Const(not negative)
            if isinstance(left, Obj) and left.kind == "device":
                kinds = [torch.device_of(v).kind for v in (left, right)]
                if set(kinds) <= {"cpu", "cuda"} and (kinds[0] != kinds[1] or kinds[0] == "cpu"):
                    return Const((kinds[0] == kinds[1]) is not negative)
            if right is NONE and not isinstance(left, (Sym, Const)):
                return Const(negative)
        if operator in ("In", "NotIn") and isinstance(right, Seq) and right.rest is None and all(isinstance(v, Const) for v in right.items):
            values = frozenset(cast(Const, v).value for v in right.items)
            if isinstance(left, Const):
                return Const((left.value in values) is not negative)
            if isinstance(left, Sym):
                return self.tested(left, values, negative)
        if operator in ("In", "NotIn") and isinstance(right, Dict) and isinstance(left, Const) and REST not in right.slots:
            held = right.slots.get(left.value, ABSENT)
            if not isinstance(held, Phi):
                return Const((held is not ABSENT) is not negative)
        if operator in ("In", "NotIn") and isinstance(left, Const) and isinstance(right, Const) and isinstance(right.value, str):
            return Const((str(left.value) in right.value) is not negative)
        texts = [v.subject if isinstance(v, Sym) else v.value if isinstance(v, Const) else id(v) for v in (left, right)]
        positive = {"NotEqual": "Equal", "IsNot": "Is", "NotIn": "In"}.get(operator, operator)
        declared = all(v.subject.declared for v in (left, right) if isinstance(v, Sym))
        made = self.derive((positive, *map(repr, texts)), self.text(node), declared=declared)
        true, false = self.truth(made)
        return Bool(false, true) if negative else Bool(true, false)

    def compared(self, value: Phi, test: Callable[[Value], Value]) -> Value:
        parts = [(c, test(v)) for c, v in value.options]
        if any(isinstance(v, Tensor) for _, v in parts):
            return phi(parts)
        joined = phi(parts)
        if isinstance(joined, (Const, Bool)):
            return joined
        return Bool(*self.truth(joined))

    @staticmethod
    def tested(value: Sym, values: frozenset[object], negative: bool) -> Bool:
        literal = Literal(value.subject, Among(values))
        return Bool(unit(~literal), unit(literal)) if negative else Bool(unit(literal), unit(~literal))

    def text(self, node: cst.CSTNode) -> str:
        """The source text of a node, shortened."""
        code = " ".join(self.module.source.module.code_for_node(node).split())
        return code if len(code) <= 60 else code[:57] + "…"

    # ---------------------------------------------------------------- attributes and subscripts
    def ev_Attribute(self, node: cst.Attribute) -> Value:
        return self.each(self.eval(node.value), lambda v: self.attribute(v, node.attr.value, node))

    def attribute(self, owner: Value, name: str, node: cst.CSTNode) -> Value:
        if isinstance(owner, Ref):
            return Ref(f"{owner.name}.{name}")
        if isinstance(owner, Inst):
            return self.instance_attribute(owner, name, node)
        if isinstance(owner, Module):
            return owner.scope.slots.get(name) or self.imported(f"{owner.name}.{name}", 0) or unknown(name)
        if isinstance(owner, Cls):
            found = owner.lookup(name)
            if isinstance(found, Func) and found.decorated("classmethod"):
                return Method(found, owner)
            return found if found is not None else unknown(f"{owner.name}.{name}")
        if isinstance(owner, Sym):
            set_here = self.__dict__.get("_sym_slots", {}).get(id(owner), {})
            if name in set_here:
                return cast(Value, set_here[name])
            return self.derive((".", id(owner.subject), name), f"{owner.text}.{name}", declared=owner.subject.declared, tensor=owner.tensor)
        if isinstance(owner, (Obj, Model, Tensor)):
            return libraries.attribute(self, owner, name, node)
        return Bound(owner, name)

    def instance_attribute(self, owner: Inst, name: str, node: cst.CSTNode) -> Value:
        held = owner.slots.get(name)
        if held is not None and held is not ABSENT:
            return held
        found = owner.cls.lookup(name)
        if isinstance(found, Func):
            if found.decorated("property", "cached_property", "functools.cached_property"):
                return self.invoke(found, Call(self, node, name), owner)
            if found.decorated("staticmethod"):
                return found
            return Method(found, owner)
        if found is not None and found is not ABSENT:
            return found
        if name == "__class__":
            return owner.cls
        return libraries.instance_attribute(self, owner, name, node)

    def ev_Subscript(self, node: cst.Subscript) -> Value:
        holder, key = self.eval(node.value), self.index(node)
        return self.each(holder, lambda h: self.item(h, key, node))

    def index(self, node: cst.Subscript) -> Value:
        if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
            return self.eval(node.slice[0].slice.value)
        if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Slice) and node.slice[0].slice.step is None:
            lower, upper = node.slice[0].slice.lower, node.slice[0].slice.upper
            return Slice(self.eval(lower) if lower is not None else ABSENT, self.eval(upper) if upper is not None else ABSENT)
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                self.eval(element.slice.value)
        return unknown("slice")

    def item(self, holder: Value, key: Value, node: cst.CSTNode) -> Value:
        if isinstance(holder, Phi):
            return self.each(holder, lambda h: self.item(h, key, node))
        if isinstance(holder, Dict):
            if isinstance(key, Const):
                held = holder.slots.get(key.value)
                if held is not None and held is not ABSENT and REST not in holder.slots:
                    return held if not isinstance(held, Phi) else phi([(c, v) for c, v in held.options if v is not ABSENT])
                if held is not None and held is not ABSENT:
                    if isinstance(held, Const) and isinstance(holder.slots[REST], Sym):
                        return self.derive(("[", id(holder), key.value), f"[{key.value!r}]", (held.value,))
                    return held
                if REST in holder.slots:
                    rest = holder.slots[REST]
                    return rest if not isinstance(rest, Sym) else self.derive(("[", id(holder), key.value), f"[{key.value!r}]")
            values = [v for v in holder.slots.values() if v is not ABSENT]
            if len(values) == 1:
                return values[0]
            if (
                isinstance(key, Sym)
                and REST not in holder.slots
                and 1 < len(holder.slots) <= MAX_UNROLL
                and not any(isinstance(v, Tensor) for v in values)
            ):
                return phi([(unit(Literal(key.subject, Among(frozenset((k,))))), v) for k, v in holder.slots.items() if v is not ABSENT])
            tensor = next((v for v in values if isinstance(v, Tensor)), None)
            return tensor if tensor is not None else unknown("entry")
        if isinstance(holder, Seq):
            if isinstance(key, Const) and isinstance(key.value, int) and -len(holder.items) <= key.value < len(holder.items):
                return holder.items[key.value]
            elements = holder.elements()
            if not isinstance(key, Const):
                elements = [torch.part_of(e) for e in elements]
                return (
                    Seq.of([], holder.kind, elements[0])
                    if elements and (isinstance(key, Slice) or (isinstance(key, Sym) and key.text == "slice"))
                    else (elements[0] if elements else unknown("element"))
                )
            return holder.rest if holder.rest is not None else unknown("element")
        if isinstance(holder, Ref) and holder.name == "os.environ" and isinstance(key, Const):
            return libraries.environment(self, str(key.value), node)
        if isinstance(holder, Sym):
            if isinstance(key, Const):
                set_here = self.__dict__.get("_sym_slots", {}).get(id(holder), {})
                if ("[", key.value) in set_here:
                    return cast(Value, set_here["[", key.value])
                return self.derive(
                    ("[", id(holder.subject), key), f"{holder.text}[{key.value!r}]", declared=holder.subject.declared, tensor=holder.tensor
                )
            return unknown(f"{holder.text}[…]", tensor=holder.tensor)
        if isinstance(holder, Tensor):
            if holder.tokens is None:
                return holder
            self.recipe.viewed.add(holder)
            return replace(holder, tokens=None)
        if isinstance(holder, (Obj, Model)):
            return libraries.subscript(self, holder, key, node)
        if isinstance(holder, Inst) and isinstance(getter := holder.cls.lookup("__getitem__"), Func):
            call = Call(self, node, "__getitem__")
            call.args = [key]
            return self.invoke(getter, call, holder)
        if isinstance(holder, Const) and isinstance(holder.value, str) and isinstance(key, Const) and isinstance(key.value, int):
            return unknown("character")
        return unknown("element")

    # ---------------------------------------------------------------- iteration
    def elements(self, value: Value, node: cst.CSTNode) -> list[Value]:
        """The elements over which a loop runs: each one where they are known and few, else one that stands for all."""
        if isinstance(value, Seq):
            items = value.elements()
            if len(items) <= MAX_UNROLL and not all(isinstance(i, Const) for i in items):
                return items
            if 0 < len(items) <= MAX_UNROLL and all(isinstance(i, Const) and isinstance(i.value, str) for i in items):
                return items
            if items and all(isinstance(i, Const) for i in items):
                return items[:1] if len(items) == 1 else [self.derive(("element", id(value)), self.text(node) + "[i]")]
            return items[:MAX_UNROLL] if items else []
        return [self.element(value, node)]

    def element(self, value: Value, node: cst.CSTNode) -> Value:
        """One element that stands for all of an iterable."""
        if isinstance(value, Phi):
            return self.each(value, lambda v: self.element(v, node))
        if isinstance(value, Seq):
            found = value.elements()
            return found[0] if found else unknown("element")
        if isinstance(value, Dict):
            return unknown("key")
        if isinstance(value, Tensor):
            return value
        if isinstance(value, (Obj, Model)):
            return libraries.element(self, value, node)
        if isinstance(value, Inst):
            for name in ("__iter__", "__getitem__"):
                func = value.cls.lookup(name)
                if isinstance(func, Func):
                    call = Call(self, node, name)
                    call.args = [unknown("index")] if name == "__getitem__" else []
                    made = self.invoke(func, call, value)
                    return self.element(made, node) if name == "__iter__" and made is not value else made
        if isinstance(value, Sym):
            return self.derive(("each", id(value.subject)), f"{value.text}[i]", declared=value.subject.declared, tensor=value.tensor)
        return unknown("element")

    def ev_ListComp(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> Value:
        found = self.comprehension(node.for_in, lambda: self.eval(node.elt))
        if len(found) == 1 and not self.single:
            return Seq.of([], "list", found[0])
        return Seq.of(found, "list")

    ev_SetComp = ev_ListComp
    ev_GeneratorExp = ev_ListComp

    def ev_DictComp(self, node: cst.DictComp) -> Value:
        made = Dict()

        def entry() -> Value:
            key, value = self.eval(node.key), self.eval(node.value)
            k = key.value if isinstance(key, Const) else REST
            made.slots[k] = value
            return value

        self.comprehension(node.for_in, entry)
        return made

    def comprehension(self, for_in: cst.CompFor, body: Callable[[], Value]) -> list[Value]:
        before, pc = self.scope, self.pc
        iterable = self.eval(for_in.iter)
        self.scope = Scope(before, kind="function", module=self.module)
        found: list[Value] = []
        for element in self.elements(iterable, for_in.iter):
            self.assign(for_in.target, element)
            keep: Condition = ALWAYS
            for test in for_in.ifs:
                true, _ = self.test(test.test)
                keep = both(keep, true)
            if frozenset() in keep:
                continue
            self.pc = both(pc, keep)
            if for_in.inner_for_in is not None:
                found.extend(self.comprehension(for_in.inner_for_in, body))
            else:
                found.append(body())
            self.pc = pc
        self.scope, self.pc = before, pc
        self.single = isinstance(iterable, Seq) and iterable.rest is None and len(iterable.items) == 1 and not for_in.ifs
        return found

    # ================================================================ calls
    def test(self, node: cst.BaseExpression) -> tuple[Condition, Condition]:
        """The conditions under which an expression that is tested is true and false."""
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            true, false = self.test(node.expression)
            return false, true
        if not isinstance(node, cst.BooleanOperation) or self.expression_depth > 60:
            return self.truth(self.eval(node))
        conjunction = isinstance(node.operator, cst.And)
        self.expression_depth += 1
        left = self.test(node.left)
        goes_on, ends = left if conjunction else (left[1], left[0])
        if frozenset() in goes_on:
            self.expression_depth -= 1
            return left
        before = self.pc
        self.pc = both(before, goes_on)
        right = self.test(node.right)
        self.pc = before
        self.expression_depth -= 1
        on, off = right if conjunction else (right[1], right[0])
        joined = both(goes_on, on)
        other = either(ends, off)
        if other is None or len(joined) > 12:
            return self.opaque(self.text(node), self.text(node))
        return (joined, other) if conjunction else (other, joined)

    def ev_Call(self, node: cst.Call) -> Value:
        if isinstance(node.func, cst.Name) and node.func.value == "super" and self.scope.find("super") is None:
            return self.super_value()
        callee = self.eval(node.func)
        call = self.arguments(node)
        return self.each(callee, lambda c: self.call(c, call))

    def super_value(self) -> Value:
        slots = self.scope.find("__class__")
        receiver = self.scope.find("__self__")
        if slots is None or receiver is None:
            return unknown("super()")
        return Obj("super", {"class": slots["__class__"], "self": receiver["__self__"]})

    def arguments(self, node: cst.Call) -> Call:
        """Evaluate a call's arguments in order."""
        call = Call(self, node, dotted(node.func))
        for arg in node.args:
            value = self.eval(arg.value)
            if arg.star == "*":
                if isinstance(value, Seq):
                    call.args.extend(value.items)
                    call.open = call.open or value.rest is not None
                else:
                    call.open = True
                    call.extra.append(value)
            elif arg.star == "**":
                for condition, v in options(value):
                    if isinstance(v, Dict):
                        for key, held in v.slots.items():
                            if isinstance(key, str) and key != REST:
                                given = (
                                    held
                                    if condition == ALWAYS
                                    else phi([(condition, held), (negate(condition) or NEVER, call.kwargs.get(key, ABSENT))])
                                )
                                call.kwargs[key] = given
                                call.holders[key] = v
                            elif key == REST:
                                call.open = True
                                call.extra.append(held)
                    elif v is not NONE:
                        call.open = True
                        call.extra.append(v)
            elif arg.keyword is not None:
                call.kwargs[arg.keyword.value] = value
                call.nodes[arg.keyword.value] = arg
            else:
                call.nodes[len(call.args)] = arg
                call.args.append(value)
        return call

    def call(self, callee: Value, call: Call) -> Value:
        """Call a value."""
        if isinstance(callee, Phi):
            return self.each(callee, lambda c: self.call(c, call))
        if (isinstance(callee, Ref) and callee.root == "torch") or (isinstance(callee, Obj) and callee.kind == "layer"):
            for i, value in enumerate(call.args):
                if (
                    isinstance(value, Phi)
                    and len(
                        {v.cut_off for _, v in value.options if isinstance(v, Tensor)} | {v.opaque for _, v in value.options if isinstance(v, Tensor)}
                    )
                    > 1
                ):
                    return self.each(value, lambda v, i=i: self.call(callee, call.with_argument(i, v)))  # type: ignore[misc]
        if isinstance(callee, Ref):
            self.note_call(callee.name, call)
            return libraries.call(callee.name, call)
        if isinstance(callee, Func):
            return self.invoke(callee, call, None)
        if isinstance(callee, Method):
            return self.invoke(callee.func, call, callee.owner)
        if isinstance(callee, Cls):
            return self.instantiate(callee, call)
        if isinstance(callee, Bound):
            call.owner = callee.owner
            self.note_call(libraries.class_of(callee.owner), call, callee.name)
            return libraries.method(callee.owner, callee.name, call)
        if isinstance(callee, Inst):
            for name in ("__call__", "forward"):
                func = callee.cls.lookup(name)
                if isinstance(func, Func):
                    return self.invoke(func, call, callee)
            return libraries.unknown_call(call)
        if isinstance(callee, (Model, Obj)):
            call.owner = callee
            return libraries.method(callee, "__call__", call)
        if isinstance(callee, Tensor):
            return self.combine([callee, *call.values()], call.node)
        if isinstance(callee, Sym):
            return libraries.symbol_call(callee, call)
        return libraries.unknown_call(call)

    def note_call(self, name: str, call: Call, method: str = "", through: Cls | None = None) -> None:
        """Write down a call of a library, by its full name."""
        if not name or name.startswith("builtins."):
            return
        self.recipe.calls.append(
            LibraryCall(
                f"{name}.{method}" if method else name,
                self.site(call.node),
                self.pc,
                self.order,
                None if any(value is not None for value in call.extra) and call.open else len(call.args),
                dict(call.kwargs),
                {keyword: call.site_of(keyword) for keyword in call.kwargs},
                dict(call.holders),
                bool(self.guards),
                through,
            )
        )

    def parameters(self, func: Func) -> list[tuple[str, Value | None]]:
        """Names and defaults of the parameters that can be given by name, in order."""
        p = func.node.params
        return [(x.name.value, func.defaults.get(x.name.value)) for x in (*p.posonly_params, *p.params, *p.kwonly_params)]

    def invoke(self, func: Func, call: Call, owner: Value | None) -> Value:
        """Interpret a project function in place."""
        self.called.add(id(func.node))
        self.step()
        if self.depth >= MAX_DEPTH or self.active.count(id(func.node)) >= 3:
            return libraries.unknown_call(call)
        scope = Scope(func.scope, kind="function", module=func.module)
        self.parametrise(func, call, owner, scope)
        if func.name == "forward" and self.frames_of_script:
            attached = any(isinstance(v, Tensor) and v.attached for x in call.values() for v in walk(x))
            self.fed[id(func.node)] = self.fed.get(id(func.node), False) or attached
        key = self.memo_key(func, scope)
        if key is not None and key in self.memo:
            return self.memo[key]
        before = self.module, self.scope, self.pc, self.dead, self.stmt, self.block, len(self.modes)
        order, count = self.order, len(self.recipe.models)
        journal_size = sum(len(j) for j in self.journals)
        for value, decorator in func.decorators:
            mode = libraries.decorator_mode(value)
            if mode:
                site = Site(decorator, func.node, func.module.source)
                self.modes.append(GradMode(mode, site))
        frame = Frame(id(func.node), entered=len(self.modes))
        self.frames.append(frame)
        self.active.append(id(func.node))
        self.calls.append(self.site(call.node))
        self.depth += 1
        self.module = func.module
        guards, self.guards = self.guards, 0
        try:
            if isinstance(func.node, cst.Lambda):
                self.scope = scope
                frame.returns.append((self.pc, self.eval(func.node.body)))
            else:
                self.scope = scope
                self.suite(func.node.body)
                if not self.dead:
                    frame.returns.append((self.pc, NONE))
        finally:
            self.depth -= 1
            self.active.pop()
            self.frames.pop()
            self.calls.pop()
            ended = self.dead
            self.module, self.scope, self.pc, self.dead, self.stmt, self.block, modes = before
            self.guards = guards
            del self.modes[modes:]
        if ended == "exit":
            self.dead = "exit"
        if frame.yields:
            return Obj("generator", {"element": frame.yields[-1]}, self.site(call.node), info={"modes": frame.modes})
        base = set(self.pc)
        value = phi([(tuple(c for c in pc if c not in base), v) for pc, v in frame.returns]) if frame.returns else NONE
        if key is not None and order == self.order and count == len(self.recipe.models) and journal_size == sum(len(j) for j in self.journals):
            self.memo[key] = value
        return value

    def memo_key(self, func: Func, scope: Scope) -> tuple[Any, ...] | None:
        """A key for calls of the same function with the same immutable arguments; ``None`` where the result may differ."""
        if func.owner is not None or func.scope.kind != "module":
            return None
        key: list[Any] = [id(func)]
        for name, value in scope.slots.items():
            if not isinstance(value, (Const, Ref, Func, Sym)):
                return None
            key += [name, id(value.subject) if isinstance(value, Sym) else value if isinstance(value, (Const, Ref)) else id(value)]
        return (*key, self.pc, len(self.modes))

    def parametrise(self, func: Func, call: Call, owner: Value | None, scope: Scope) -> None:
        """Bind a call's arguments to the function's parameters."""
        p = func.node.params
        positional = [*p.posonly_params, *p.params]
        given = list(call.args)
        if owner is not None:
            given.insert(0, owner)
            scope.slots["__self__"] = owner
            if func.owner is not None:
                scope.slots["__class__"] = func.owner
        used: set[str] = set()
        for i, param in enumerate(positional):
            name = param.name.value
            if i < len(given):
                scope.slots[name] = given[i]
                used.add(name)
        for param in (*positional, *p.kwonly_params):
            name = param.name.value
            if name in used:
                continue
            default = func.defaults.get(name)
            value = call.kwargs.get(name, ABSENT)
            if isinstance(value, Phi) and any(v is ABSENT for _, v in value.options):
                value = phi([(c, (default or unknown(name)) if v is ABSENT else v) for c, v in value.options])
            if value is ABSENT:
                known: tuple[object, ...] = (default.value,) if isinstance(default, Const) else ()
                opened = Sym(Subject(name, declared=True, default=known))
                if call.open:
                    value = next((v for v in call.extra if isinstance(v, Tensor)), None) or (
                        default if isinstance(default, (Seq, Dict, Obj)) else opened
                    )
                else:
                    value = default if default is not None else opened
            scope.slots[name] = value
            used.add(name)
        if isinstance(p.star_arg, cst.Param):
            scope.slots[p.star_arg.name.value] = Seq.of(given[len(positional) :], "tuple", unknown("argument") if call.open else None)
        if p.star_kwarg is not None:
            extra = Dict({k: v for k, v in call.kwargs.items() if k not in used}, {k: call.site_of(k) for k in call.kwargs})
            for v in call.extra:
                extra.slots[REST] = v
            scope.slots[p.star_kwarg.name.value] = extra

    def instantiate(self, cls: Cls, call: Call) -> Value:
        """Make an object of a project class; library base classes decide what it is."""
        if base := cls.library_base():
            self.note_call(base, call, through=cls)
        made = libraries.instantiate(self, cls, call)
        if made is not None:
            return made
        inst = Inst(cls, site=self.site(call.node))
        if self.module is cls.module or id(cls) not in self.instances:
            self.instances[id(cls)] = inst
        init = cls.lookup("__init__")
        if isinstance(init, Func):
            self.invoke(init, call, inst)
        elif cls.fields:
            for i, name in enumerate(cls.fields):
                default = cls.lookup(name)
                value = call.kwargs.get(name, call.args[i] if i < len(call.args) else ABSENT)
                if value is ABSENT:
                    if default is None or default is ABSENT or call.open:
                        known: tuple[object, ...] = (default.value,) if isinstance(default, Const) else ()
                        value = Sym(Subject(f"{cls.name}.{name}", declared=True, default=known))
                    else:
                        value = libraries.field_default(self, default, call)
                inst.slots[name] = value
            post = cls.lookup("__post_init__")
            if isinstance(post, Func):
                self.invoke(post, Call(self, call.node, "__post_init__"), inst)
        return inst

    # ================================================================ tensors
    def combine(self, values: Sequence[Value], node: cst.CSTNode, device: Device | None = None, *, opaque: bool = False) -> Tensor:
        """The result of an operation over tensors under the grad mode in force."""
        found = [v for value in values for v in walk(value) if isinstance(v, Tensor)]
        attached: frozenset[Any] = frozenset().union(*(t.attached for t in found)) if found else frozenset()
        through: frozenset[Any] = frozenset().union(*(t.through for t in found)) if found else frozenset()
        cuts = tuple(dict.fromkeys(c for t in found for c in t.cuts))
        device = device or next((t.device for t in found if t.device.kind != "unknown"), SOMEWHERE)
        forced = next((t.forced for t in found if t.forced is not None), None)
        opaque = opaque or any(t.opaque for t in found) or any(isinstance(v, Sym) and v.tensor for value in values for _, v in options(value))
        site = self.site(node)
        for cut in cuts:
            if not attached:
                self.consumers.setdefault(id(cut), site)
        made = self.result(Tensor(attached, cuts, device, opaque, through=through, forced=forced, site=site))
        if any(not x.trainable for x in through):
            self.note_weights(made)
        return made

    def note_weights(self, made: Tensor) -> None:
        """Note of the cuts behind a value that it has met weights that are not trained."""
        self.weights.update(id(cut) for cut in made.cuts if cut.lost - made.attached)

    def weigh(self, made: Tensor) -> Tensor:
        """The value after weights that are not trained."""
        self.note_weights(made)
        path = {self.frozen_path} if any(x.kind == "input" for x in made.attached) else set()
        return replace(made, attached=made.attached | path, through=made.through | {self.frozen_weights})

    def cut(self, kind: str, site: Site, made: Tensor, *, removable: bool = False) -> Cut:
        """The end of the gradient's way for a tensor."""
        new = Cut(kind, site, made.attached, made.opaque, removable, self.tick())
        if any(not x.trainable or x.kind == "pretrained" for x in made.through):
            self.weights.add(id(new))
        return new

    def result(self, made: Tensor) -> Tensor:
        """A computed tensor under the grad mode in force."""
        mode = self.modes[-1] if self.modes else None
        if mode is None or mode.mode == "on":
            return made
        if mode.mode == "maybe":
            return Tensor(made.attached, made.cuts, made.device, True, made.number, made.through, made.forced, False, made.site)
        cuts = made.cuts
        if (made.attached or made.opaque) and not any(c.site.node is mode.site.node for c in cuts):
            cuts = (*cuts, self.cut("inference_mode" if mode.mode == "inference" else "no_grad", mode.site, made))
        return Tensor(frozenset(), cuts, made.device, False, made.number, made.through, None, False, made.site)

    def detached(
        self, values: Sequence[Value], kind: str, node: cst.CSTNode, *, number: bool = False, removable: bool = False, device: Device | None = None
    ) -> Tensor:
        """The result of an expression that ends the gradient's way."""
        made = self.combine(values, node)
        cuts = made.cuts
        if made.attached or made.opaque:
            cuts = (*cuts, self.cut(kind, self.site(node), made, removable=removable))
        return Tensor(frozenset(), cuts, device or made.device, False, number, made.through, None, False, made.site)


class Call:
    """A call being executed: the callee's name as written, the evaluated arguments, and where each was given."""

    __slots__ = ("args", "extra", "holders", "kwargs", "m", "name", "node", "nodes", "open", "owner")

    def __init__(self, machine: Interpreter, node: cst.CSTNode, name: str) -> None:
        self.m = machine
        self.node = node
        self.name = name
        self.args: list[Value] = []
        self.kwargs: dict[str, Value] = {}
        self.nodes: dict[str | int, cst.Arg] = {}
        self.holders: dict[str, Dict] = {}
        self.open = False
        self.extra: list[Value] = []
        self.owner: Value | None = None

    def get(self, name: str, position: int | None = None) -> Value:
        """The argument of that name or position; ABSENT where it is not given (it may still hide in an unknown ``**``)."""
        if name in self.kwargs:
            return self.kwargs[name]
        if position is not None and position < len(self.args):
            return self.args[position]
        return ABSENT

    def site_of(self, name: str, position: int | None = None) -> Site:
        """Where an argument was given: its own place in the call, or the dictionary entry that brought it."""
        node = self.nodes.get(name) or (self.nodes.get(position) if position is not None else None)
        if node is not None:
            return self.m.site(node)
        holder = self.holders.get(name)
        if holder is not None and name in holder.sites:
            return holder.sites[name]
        return self.m.site(self.node)

    def with_argument(self, position: int, value: Value) -> Call:
        """The same call with another value for a positional argument."""
        made = Call(self.m, self.node, self.name)
        made.args = [*self.args[:position], value, *self.args[position + 1 :]]
        made.kwargs, made.nodes, made.holders, made.open, made.extra = self.kwargs, self.nodes, self.holders, self.open, self.extra
        return made

    def values(self) -> list[Value]:
        """All argument values."""
        return [*self.args, *self.kwargs.values(), *self.extra]

    @property
    def site(self) -> Site:
        return self.m.site(self.node)
