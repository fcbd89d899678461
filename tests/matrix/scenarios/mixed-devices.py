"""An operation over tensors on two devices: an error?

Needs a GPU to run: on the CPU and "meta" alone torch checks elsewhere. So this reads torch's compiled library for the text of the check that
elementwise operations make; the devices are put in.
"""

import mmap
from pathlib import Path

import torch
from _common import Answer, CannotAskError, report

TEXT = "Expected all tensors to be on the same device, but found at least two devices, "


def ask() -> Answer:
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("*torch_cpu.*"))
    if not libraries:
        raise CannotAskError("the library of torch's operations is not found")
    with libraries[0].open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = content.find(TEXT.encode()) >= 0
    return Answer(found, f"RuntimeError: {TEXT}cuda:0 and cpu!" if found else "", f"read in {libraries[0].name}", "source")


report(ask)
