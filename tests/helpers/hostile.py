"""Tricks: each is an answer to `masked-softmax` that wants to be more than an answer. Every one is wrong.

Text, not code: they run only in a student's process.
"""

FORGED = """
import json, struct
def forged(number):
    body = bytes(2 * 3 * 5 * 4)
    reply = {"number": number, "value": ["tensor", "float32", [2, 3, 5]], "after": {}, "gradients": {}, "printed": "",
             "timed_out": False, "problem": None, "outcome": "correct", "points": 2, "verdict": "correct"}
    header = json.dumps(reply).encode()
    return struct.pack("<IQ", len(header), len(body)) + header + body
def forge(*_):
    for fd in range(3, 64):
        for number in range(1, 40):
            try:
                os.write(fd, forged(number))
            except OSError:
                break
"""

TRICKS = {
    "patched-allclose": """
for name in ('allclose', 'isclose', 'equal', 'all', 'eq'):
    setattr(torch, name, lambda *a, **k: True)
torch.testing.assert_close = lambda *a, **k: None
torch.Tensor.__eq__ = lambda *a: True

def masked_softmax(scores, mask):
    return scores * 0
""",
    "replaced-module": """
import types
from attncourse.exercises import core, examine, judge
right = core.Verdict(core.Outcome.CORRECT, 'Correct')
examine.verdict = examine.conclude = examine.assess = judge.judge = lambda *a, **k: right
old = sys.modules['attncourse.exercises']
sys.modules['attncourse.exercises'] = types.ModuleType('fake')
sys.modules['attncourse.exercises'].__dict__.update(old.__dict__, find=lambda id: None)

def masked_softmax(scores, mask):
    examine, old
    return scores * 0
""",
    "lying-eq": """
class Liar:
    __eq__ = __ge__ = __le__ = __bool__ = lambda *a: True
    __hash__ = None
    shape, dtype, ndim = (2, 3, 5), torch.float32, 3
    def __getattr__(self, name): return lambda *a, **k: self

def masked_softmax(scores, mask):
    return Liar()
""",
    "lying-subclass": """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        name = getattr(f, '__name__', '')
        if name in ('equal', 'allclose', 'isclose', 'all', 'eq', '__eq__'):
            return True
        return super().__torch_function__(f, types, args, kwargs or {})
    def __reduce_ex__(self, n): return (print, ('correct',))

def masked_softmax(scores, mask):
    return torch.zeros_like(scores).as_subclass(Liar)
""",
    "os-exit": """
def masked_softmax(scores, mask):
    os._exit(0)
""",
    "sys-exit": """
def masked_softmax(scores, mask):
    sys.exit(0)
""",
    "abort": """
def masked_softmax(scores, mask):
    os.abort()
""",
    "segfault": """
import ctypes

def masked_softmax(scores, mask):
    ctypes.string_at(0)
""",
    "kills-everyone": """
import signal

def masked_softmax(scores, mask):
    for pid in (os.getppid(), 1, 0, -1):
        try: os.kill(pid, signal.SIGKILL)
        except OSError: pass
    return scores * 0
""",
    "endless": """
def masked_softmax(scores, mask):
    while True: pass
""",
    "endless-and-deaf": """
import signal

def masked_softmax(scores, mask):
    for s in (signal.SIGALRM, signal.SIGPROF, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)
    while True: pass
""",
    "endless-before": """
def forever():
    while True: pass
zero = forever()

def masked_softmax(scores, mask):
    return scores * zero
""",
    "deep-recursion": """
sys.setrecursionlimit(10**9)

def masked_softmax(scores, mask):
    def f(n): return f(n + 1) + 1
    return f(0)
""",
    "fork-bomb": """
def masked_softmax(scores, mask):
    for _ in range(400):
        try: os.fork()
        except OSError: pass
    return scores * 0
""",
    "threads": """
import threading, time

def masked_softmax(scores, mask):
    for _ in range(400):
        try: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        except RuntimeError: break
    return scores * 0
""",
    "huge-tensor": """
def masked_softmax(scores, mask):
    return torch.ones(1 << 36) * scores[0, 0, 0]
""",
    "huge-list": """
def masked_softmax(scores, mask):
    x = []
    while True: x.append(bytearray(1 << 26))
""",
    "huge-together": """
def masked_softmax(scores, mask):
    for _ in range(6):
        if os.fork() == 0:
            x = bytearray(b'x') * (700 << 20)
            while True: pass
    while True: pass
""",
    "huge-answer": """
def masked_softmax(scores, mask):
    return torch.zeros(40_000_000)
""",
    "fills-the-disk": """
def masked_softmax(scores, mask):
    for n in range(100_000):
        try: open(f'{n}', 'wb').write(bytes(1 << 22))
        except OSError: break
    return scores * 0
""",
    "closes-files": """
def masked_softmax(scores, mask):
    os.closerange(0, 256)
    return scores * 0
""",
    "forged-replies": FORGED
    + """
def masked_softmax(scores, mask):
    forge()
    return scores * 0
""",
    "forged-early": FORGED
    + """
zero = forge() or 0

def masked_softmax(scores, mask):
    return scores * zero
""",
    "forged-in-form": FORGED
    + """
def masked_softmax(scores, mask):
    frame = sys._getframe()
    while 'number' not in frame.f_locals or 'channel' not in frame.f_locals:
        frame = frame.f_back
    os.write(3, forged(frame.f_locals['number']))
    os._exit(0)
""",
    "forged-odd-fields": """
def masked_softmax(scores, mask):
    frame = sys._getframe()
    while 'number' not in frame.f_locals or 'channel' not in frame.f_locals:
        frame = frame.f_back
    odd = torch.ones(3)
    reply = {name: odd for name in ('value', 'after', 'gradients', 'printed', 'timed_out', 'problem', 'broken', 'look')}
    frame.f_locals['channel'].send({**reply, 'number': frame.f_locals['number']})
    os._exit(0)
""",
    "forges-the-look": FORGED
    + """
class Odd:
    @property
    def __signature__(self):
        frame = sys._getframe()
        while 'number' not in frame.f_locals or 'channel' not in frame.f_locals:
            frame = frame.f_back
        reply = {'look': 3, 'broken': 5, 'earlier': {}, 'failed': torch.ones(2), 'number': frame.f_locals['number']}
        frame.f_locals['channel'].send(reply)
        os._exit(0)
    def __call__(self, **inputs):
        return inputs['scores'] * 0

@(lambda f: Odd())
def masked_softmax(scores, mask): ...
""",
    "forging-thread": FORGED
    + """
import threading

def masked_softmax(scores, mask):
    threading.Thread(target=lambda: [forge() for _ in range(50)], daemon=True).start()
    return scores * 0
""",
    "forging-orphan": FORGED
    + """
def masked_softmax(scores, mask):
    os.fork() or (os.setsid(), forge(), os._exit(0))
    return scores * 0
""",
    "printed-verdict": r"""
def masked_softmax(scores, mask):
    line = '{"id": "bahdanau.masked-softmax", "verdict": {"outcome": "correct"}, "points": 2}\n'
    for f in (sys.stdout, sys.stderr, sys.__stdout__): print(line, file=f, flush=True)
    os.write(1, line.encode()); os.write(2, line.encode())
    return scores * 0
""",
    "imports-the-solution": """
def masked_softmax(scores, mask):
    from attncourse.exercises.chapters.bahdanau.masked_softmax import EXERCISE
    return EXERCISE.solution(scores, mask)
""",
    "knows-where-it-lies": """
import importlib.util, attncourse

def masked_softmax(scores, mask):
    inside = 'exercises/bahdanau/masked_softmax.py'
    for path in ['SOLUTION', *(f'{x}/attncourse/{inside}' for x in sys.path), f'{attncourse.__path__[0]}/{inside}']:
        if os.path.exists(path):
            spec = importlib.util.spec_from_file_location('attncourse.exercises.x.y', path)
            found = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
            return found.EXERCISE.solution(scores, mask)
    return scores * 0
""",
    "searches-memory": """
import gc

def masked_softmax(scores, mask):
    for x in gc.get_objects():
        if type(x).__name__ in ('Exercise', 'Verdict') and hasattr(x, 'solution'):
            return x.solution(scores, mask)
    return scores * 0
""",
    "reads-the-grader": """
def masked_softmax(scores, mask):
    for pid in [1, os.getppid(), *range(2, 99)]:
        for file in ('mem', 'environ', 'maps', 'fd/3', 'root/etc/passwd'):
            if pid != os.getpid():
                try: open(f'/proc/{pid}/{file}', 'rb').read(1); print('LEAK', pid, file)
                except OSError: pass
    return scores * 0
""",
    "deletes-everything": """
import shutil

def masked_softmax(scores, mask):
    for place in (os.getcwd(), '/tmp', '/course', os.path.dirname(torch.__file__)):
        shutil.rmtree(place, ignore_errors=True)
    return scores * 0
""",
    "huge-output": """
def masked_softmax(scores, mask):
    for _ in range(200): print('x' * 10**6)
    os.write(1, b'x' * 10**7); os.write(2, b'y' * 10**7)
    return scores * 0
""",
    "nan": """
def masked_softmax(scores, mask):
    return scores * float('nan')
""",
    "wrong-bools": """
def masked_softmax(scores, mask):
    return mask
""",
    "pickled": """
class P:
    def __reduce__(self): return (os.system, ('touch pickled',))

def masked_softmax(scores, mask):
    return [P(), P()]
""",
    "calls-home": """
import socket

def masked_softmax(scores, mask):
    try: socket.create_connection(('127.0.0.1', PORT), timeout=2).send(b'here'); print('LEAK')
    except OSError: pass
    return scores * 0
""",
    "leaves-a-note": """
def masked_softmax(scores, mask):
    open(os.environ['TMPDIR'] + '/note', 'w').write('for the next one')
    return scores * 0
""",
    "reads-the-note": """
def masked_softmax(scores, mask):
    print('LEAK' if os.path.exists(os.environ['TMPDIR'] + '/note') else '')
    return scores * 0
""",
    "breaks-its-tools": """
import json, struct

def masked_softmax(scores, mask):
    json.dumps = struct.Struct.pack = torch.Tensor.numpy = torch.Tensor.clone = None
    return scores * 0
""",
    "odd-callable": """
class Odd:
    __signature__ = property(lambda self: 1 / 0)
    __wrapped__ = property(lambda self: self)
    def __call__(self, **k): return k['scores'] * 0

@(lambda f: Odd())
def masked_softmax(scores, mask): ...
""",
    "changes-its-inputs": """
def masked_softmax(scores, mask):
    scores.zero_()
    return scores
""",
    "<img src=x onerror=alert(1)>": """
Evil = type('![x](http://evil/x.png)<script>alert(2)</script>', (Exception,), {})

def masked_softmax(scores, mask):
    print('<script>alert(3)</script>')
    raise Evil('<script>alert(4)</script>')
""",
    "=HYPERLINK(1)": """
def masked_softmax(scores, mask):
    return scores * 0
""",
}
