"""Threads, what synchronises them, and fork beside them."""
import concurrent.futures
import os
import queue
import subprocess
import threading
import time

total = 0
lock = threading.Lock()


def add():
    global total
    for _ in range(2000):
        with lock:
            total += 1


threads = [threading.Thread(target=add) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("total", total)

work, done = queue.Queue(maxsize=4), queue.Queue()


def worker():
    while (item := work.get()) is not None:
        done.put(item * item)


workers = [threading.Thread(target=worker) for _ in range(4)]
for thread in workers:
    thread.start()
for number in range(100):
    work.put(number)
for _ in workers:
    work.put(None)
for thread in workers:
    thread.join()
print("queue", sum(done.get() for _ in range(100)))

event, barrier = threading.Event(), threading.Barrier(5)
arrived = []


def meet(number):
    event.wait()
    barrier.wait()
    with lock:
        arrived.append(number)


meeting = [threading.Thread(target=meet, args=(n,)) for n in range(5)]
for thread in meeting:
    thread.start()
event.set()
for thread in meeting:
    thread.join()
print("barrier", sorted(arrived))

condition = threading.Condition()
with condition:
    started = time.monotonic()
    print("timed wait", condition.wait(0.1), time.monotonic() - started >= 0.1)

with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print("pool", sum(pool.map(lambda n: n * 2, range(200))))
    outputs = pool.map(lambda n: subprocess.check_output(["echo", str(n)]), range(12))
    print("children of threads", [int(output) for output in outputs])

stop = threading.Event()
beside = threading.Thread(target=stop.wait)
beside.start()
pid = os.fork()
if pid == 0:
    os._exit(threading.active_count() + 40)
print("fork beside a thread", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
stop.set()
beside.join()

local = threading.local()
local.value = "main"


def other():
    local.value = "other"


thread = threading.Thread(target=other)
thread.start()
thread.join()
print("local", local.value)

many = [threading.Thread(target=time.sleep, args=(2,)) for _ in range(200)]
for thread in many:
    thread.start()
print("alive", threading.active_count() > 150)
for thread in many:
    thread.join()
print("left", threading.active_count())
