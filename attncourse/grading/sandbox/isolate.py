"""The walls around a student's process. Only the standard library: it is also a script, run before torch is there.

    python isolate.py PLAN     build the walls that PLAN (JSON, see view.py) describes, then become runner.py

Three ways, the strongest that works is taken (examiner.py tries them in this order):

    bubblewrap   bwrap has built the first room: namespaces, and a file system with nothing in it but Python
    namespaces   the same, built here by system calls: as root, or in a user namespace of one's own
    user         no namespaces: as root an unprivileged user, as anyone else limits only
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import sys

try:
    import resource

    libc = ctypes.CDLL(None, use_errno=True)
except (ImportError, TypeError):  # Windows, where nothing of this can run
    resource = libc = None  # type: ignore[assignment]

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
BIND, REC, PRIVATE, NOSUID, NODEV, NOEXEC = 0x1000, 0x4000, 0x40000, 2, 4, 8
DETACH, NO_NEW_PRIVS, PDEATHSIG, DUMPABLE = 2, 38, 1, 4
MOUNT_SETATTR, HERE, RECURSIVE = 442, -100, 0x8000  # the same number on every machine; Linux 5.12
NOBODY = 65534
DESK = "/desk"  # where a student may write. Not /tmp: the course's own environment may lie below that
DEVICES = ("null", "zero", "full", "random", "urandom")


def call(name: str, *arguments: object) -> None:
    """A function of libc that gives 0, or raises what went wrong."""
    encoded = [x.encode() if isinstance(x, str) else x for x in arguments]
    if getattr(libc, name)(*encoded):
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    call("mount", source, target, kind, ctypes.c_ulong(flags), options)


def read_only(path: str) -> None:
    """Everything mounted below `path`, and no set-user-id program works there."""
    attributes = (ctypes.c_uint64 * 4)(1 | 2, 0, 0, 0)  # MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    call("syscall", MOUNT_SETATTR, HERE, path, RECURSIVE, ctypes.byref(attributes), size)


# --- the room of the runner: once a worker ------------------------------------------------------------------


def enclose(plan: dict) -> None:
    """Move into namespaces of our own, and into a file system that holds only what the plan names."""
    room = NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET
    if os.geteuid() == 0:
        call("unshare", room)
    else:
        user, group = os.getuid(), os.getgid()
        call("unshare", room | NEWUSER)
        maps = {"setgroups": "deny", "gid_map": f"{NOBODY} {group} 1", "uid_map": f"{NOBODY} {user} 1"}
        for name, line in maps.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)
    _fork(plan)  # the new process namespace begins with a child
    mount("none", "/", None, REC | PRIVATE)
    root = plan["root"]
    mount("tmpfs", root, "tmpfs", NOSUID | NODEV, "mode=755,size=1m")
    for kind, source, target in plan["mounts"]:
        _furnish(kind, source, root + target)
    for name in DEVICES:
        _furnish("bind", f"/dev/{name}", f"{root}/dev/{name}")
    for folder in (DESK, "/proc"):
        os.makedirs(root + folder, exist_ok=True)
    if not os.path.exists(f"{root}/tmp"):
        os.symlink(DESK, f"{root}/tmp")
    read_only(root)
    _mount_proc(f"{root}/proc")
    mount("tmpfs", root + DESK, "tmpfs", NOSUID | NODEV, "mode=700,size=16m")
    os.chdir(root)
    call("pivot_root", ".", ".")
    call("umount2", ".", DETACH)
    os.chdir("/")


def _fork(plan: dict, clear: bool = False) -> None:
    """Go on as a child; the parent waits and ends as it ends. `clear`: it removes what a grader now gone has left."""
    child = os.fork()
    if not child:
        if sys.platform == "linux":
            call("prctl", PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        return
    os.close(plan["control"])
    _, status = os.waitpid(child, 0)
    if clear and status == 0:
        shutil.rmtree(os.path.dirname(plan["root"]), ignore_errors=True)
    os._exit(0 if status == 0 else 1)


def _furnish(kind: str, source: str, target: str) -> None:
    if kind == "link":
        os.symlink(source, target)
    elif kind == "hide":
        os.makedirs(target, exist_ok=True)
        mount("tmpfs", target, "tmpfs", NOSUID | NODEV, "mode=755,size=1m")
    elif os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        mount(source, target, None, BIND | REC)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "a").close()
        mount(source, target, None, BIND)


def _mount_proc(path: str) -> None:
    """Processes of this namespace only; where it is not allowed (some containers), none."""
    try:
        mount("proc", path, "proc", NOSUID | NODEV | NOEXEC)
    except OSError:
        mount("tmpfs", path, "tmpfs", NOSUID | NODEV | NOEXEC, "size=4k,mode=555")


# --- the cell of a student: once a fork ---------------------------------------------------------------------


def cell(plan: dict) -> None:
    """A process namespace and an empty folder for one student; all of it is gone when its first process ends."""
    call("prctl", PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _mount_proc("/proc")
    owner, size = plan["owner"], plan["limits"]["disk"]
    mount("tmpfs", DESK, "tmpfs", NOSUID | NODEV, f"mode=700,uid={owner},gid={owner},size={size},nr_inodes=2000")


def confine(plan: dict, folder: str, end: int) -> socket.socket:
    """The last step before a student's code: no files, no rights, limits. -> the one way out."""
    os.chdir(folder)
    os.dup2(os.open("/dev/null", os.O_RDWR), 0)
    os.dup2(0, 1), os.dup2(0, 2), os.dup2(end, 3)
    os.closerange(4, 65536)
    os.umask(0o077)
    if plan["mode"] != "user":  # there, all that is left of a student is found by its process group
        os.setsid()
    limits, used = plan["limits"], plan["held"][0]
    if plan["uid"]:
        os.setgroups([])
        os.setresgid(plan["uid"], plan["uid"], plan["uid"])
        os.setresuid(plan["uid"], plan["uid"], plan["uid"])
    if sys.platform == "linux":
        header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        call("capset", ctypes.byref(header), ctypes.byref(none))
        call("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)
        call("prctl", DUMPABLE, 0, 0, 0, 0)
    for name, most in (
        ("CPU", limits["cpu"]),
        ("AS", used + limits["memory"]),
        ("NPROC", limits["processes"]),
        ("FSIZE", limits["file"]),
        ("NOFILE", 64),
        ("CORE", 0),
        ("MEMLOCK", 0),
    ):
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None and (name != "AS" or used):
            hard = resource.getrlimit(kind)[1]
            most = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
            resource.setrlimit(kind, (most, most))
    os.environ.clear()
    os.environ |= {"HOME": folder, "TMPDIR": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MPLBACKEND": "Agg"}
    return socket.socket(fileno=3)


def held() -> tuple[int, int]:
    """Bytes of address space in use (libraries of torch, mostly), and of memory that is its own. 0: not known here."""
    try:
        with open("/proc/self/statm") as file:
            size, resident, shared, *_ = map(int, file.read().split())
        return size * resource.getpagesize(), (resident - shared) * resource.getpagesize()
    except (OSError, ValueError):
        return 0, 0


def together(base: int) -> int:
    """Bytes that the processes of this namespace hold beyond what each was born with, `base`. 0: not known here."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/statm") as file:
                    _, resident, shared, *_ = map(int, file.read().split())
                total += max(0, (resident - shared) * resource.getpagesize() - base)
            except OSError:  # it has ended
                continue
    return total


def sweep(uid: int) -> None:
    """Without a namespace that takes them along: end all processes of the student's user."""
    helper = os.fork()
    if not helper:
        try:
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(helper, 0)


def undumpable() -> None:
    """Processes of the same user can neither trace this one nor read its memory."""
    if sys.platform == "linux":
        call("prctl", DUMPABLE, 0, 0, 0, 0)


if __name__ == "__main__":
    chosen = json.loads(sys.argv[1])
    if chosen["mode"] != "bubblewrap":
        _fork(chosen, clear=True)  # this one stays outside
    if chosen["mode"] == "namespaces":
        enclose(chosen)
    sys.path[:] = chosen["path"]
    from attncourse.grading.sandbox import runner

    runner.main(chosen)
