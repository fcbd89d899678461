"""The hub: logins do nothing, uploads do nothing, downloads give the twin's files or say that there is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .checkpoints import Checkpoints
from .common import Twin

_LOGINS = ("login", "logout", "notebook_login", "interpreter_login", "auth_switch")
_UPLOADS = (
    "upload_file", "upload_folder", "upload_large_folder", "create_repo", "create_commit", "create_branch", "create_tag", "delete_repo",
    "delete_file",
    "update_repo_visibility", "update_repo_settings", "super_squash_history", "preupload_lfs_files", "run_as_future", "add_collection_item",
)  # fmt: skip


def install(twin: Twin, models: Checkpoints) -> None:
    """Patch huggingface_hub where it is imported."""
    twin.when("huggingface_hub._login", lambda module: _quiet(twin, module, _LOGINS, "login"))
    twin.when("huggingface_hub.hf_api", lambda module: _patch_api(twin, module))
    twin.when("huggingface_hub.file_download", lambda module: _everywhere(twin, module, "hf_hub_download", lambda f: _download(twin, models, f)))
    def fetched(module: Any) -> None:
        _everywhere(twin, module, "snapshot_download", lambda f: _snapshot(twin, models, f))

    twin.when("huggingface_hub._snapshot_download", fetched)


def _everywhere(twin: Twin, module: ModuleType, name: str, make: Callable[[Any], Any]) -> None:
    import huggingface_hub

    twin.wrap(module, name, make)
    if name in vars(huggingface_hub):
        twin.patches.set(huggingface_hub, name, getattr(module, name))


def _quiet(twin: Twin, module: ModuleType, names: tuple[str, ...], what: str) -> None:
    for name in names:
        if hasattr(module, name):
            _everywhere(twin, module, name, lambda original: _nothing(twin, what, None))


def _nothing(twin: Twin, what: str, result: Any) -> Callable[..., Any]:
    def do(*args: Any, **kwargs: Any) -> Any:
        twin.off(what)
        return result

    return do


def _patch_api(twin: Twin, module: ModuleType) -> None:
    user = {"name": "user", "fullname": "user", "type": "user", "orgs": [], "auth": {"type": "access_token", "accessToken": {"role": "read"}}}
    for names, what, result in ((("whoami",), "login", user), (("get_token_permission",), "login", "read"), (_UPLOADS, "pushing to the hub", None)):
        for name in names:
            if name in vars(module.HfApi):
                twin.wrap(module.HfApi, name, lambda original, what=what, result=result: _nothing(twin, what, result))  # type: ignore[misc]
            if hasattr(module, name):  # methods bound to one object
                _everywhere(twin, module, name, lambda original, what=what, result=result: _nothing(twin, what, result))  # type: ignore[misc]


def _download(twin: Twin, models: Checkpoints, original: Any) -> Callable[..., Any]:
    def hf_hub_download(repo_id: Any = None, filename: Any = None, *args: Any, **kwargs: Any) -> Any:
        if twin.by_user() and kwargs.get("repo_type") in (None, "model"):
            folder = models.folder(repo_id, "AutoModel")
            path = os.path.join(folder or "", *(str(part) for part in (kwargs.get("subfolder"), filename) if part))
            if folder is not None and os.path.isfile(path):
                twin.replaced("file", f"{repo_id}/{filename}", "the twin's own")
                return path
        if twin.by_user():
            raise twin.no("file", f"{repo_id}/{filename}", "nothing is downloaded")
        return original(repo_id, filename, *args, **kwargs)

    return hf_hub_download


def _snapshot(twin: Twin, models: Checkpoints, original: Any) -> Callable[..., Any]:
    def snapshot_download(repo_id: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not twin.by_user():
            return original(repo_id, *args, **kwargs)
        if kwargs.get("repo_type") not in (None, "model"):
            raise twin.no("repository", repo_id, "nothing is downloaded")
        folder = models.folder(repo_id, "AutoModel")
        twin.replaced("model", repo_id, "a folder with a random model")
        return folder

    return snapshot_download
