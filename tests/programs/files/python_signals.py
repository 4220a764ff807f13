"""Handlers, timers, masks, and what a signal does to a call that waits."""
import faulthandler
import os
import select
import signal
import subprocess
import sys
import threading
import time

seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
os.kill(os.getpid(), signal.SIGUSR1)
print("handled", seen)

started = time.monotonic()
signal.signal(signal.SIGALRM, lambda number, frame: seen.append("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(0.2)
print("sleep goes on", time.monotonic() - started >= 0.2, seen[-1])


class Interrupted(Exception):
    pass


def interrupt(number, frame):
    raise Interrupted


signal.signal(signal.SIGALRM, interrupt)
reader, writer = os.pipe()
try:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    os.read(reader, 1)
except Interrupted:
    print("read was interrupted")

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
print("pending", signal.SIGUSR2 in signal.sigpending())
print("waited for", signal.sigwait([signal.SIGUSR2]) == signal.SIGUSR2)
print("timed", signal.sigtimedwait([signal.SIGUSR2], 0.05))

wake_reader, wake_writer = os.pipe()
os.set_blocking(wake_writer, False)
signal.set_wakeup_fd(wake_writer)
os.kill(os.getpid(), signal.SIGUSR1)
print("woken", select.select([wake_reader], [], [], 1)[0] == [wake_reader], os.read(wake_reader, 1)[0])
signal.set_wakeup_fd(-1)

thread = threading.Thread(target=lambda: time.sleep(0.1))
thread.start()
signal.pthread_kill(thread.ident, signal.SIGUSR1)
thread.join()
print("count", seen.count(signal.SIGUSR1))

for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT):
    child = subprocess.Popen([sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(number)})"])
    print("died of", number.name, -child.wait() == number)

crash = subprocess.run([sys.executable, "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(0)"], capture_output=True)
print("fault", -crash.returncode, b"Segmentation fault" in crash.stderr)

interrupted = subprocess.Popen([sys.executable, "-c", "import time\ntry:\n print('ready', flush=True); time.sleep(10)\nexcept KeyboardInterrupt:\n print('interrupted')"], stdout=subprocess.PIPE)
interrupted.stdout.readline()
interrupted.send_signal(signal.SIGINT)
print(interrupted.communicate()[0])

signal.signal(signal.SIGCHLD, lambda number, frame: seen.append("child"))
subprocess.run(["true"])
print("child", seen[-1])
