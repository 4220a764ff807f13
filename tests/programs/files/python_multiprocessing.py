"""Processes that work together: fork, spawn, pools, queues, shared memory, semaphores."""
import concurrent.futures
import multiprocessing as mp
import multiprocessing.shared_memory
import os


def square(number):
    return number * number


def put(queue, number):
    queue.put((number, square(number)))


def count(value, lock, times):
    for _ in range(times):
        with lock:
            value.value += 1


def talk(connection):
    while (message := connection.recv()) != "stop":
        connection.send(message.upper())
    connection.close()


def fill(name):
    block = mp.shared_memory.SharedMemory(name=name)
    block.buf[:5] = b"child"
    block.close()


def crash():
    os._exit(23)


def main():
    for method in ("fork", "spawn", "forkserver"):
        context = mp.get_context(method)
        queue = context.Queue()
        processes = [context.Process(target=put, args=(queue, n)) for n in range(3)]
        for process in processes:
            process.start()
        print(method, sorted(queue.get() for _ in processes))
        for process in processes:
            process.join()
        print(method, "codes", [process.exitcode for process in processes])

    context = mp.get_context("fork")
    value, lock = context.Value("i", 0), context.Lock()
    counters = [context.Process(target=count, args=(value, lock, 300)) for _ in range(4)]
    for process in counters:
        process.start()
    for process in counters:
        process.join()
    print("counted", value.value)

    ours, theirs = context.Pipe()
    talker = context.Process(target=talk, args=(theirs,))
    talker.start()
    for word in ("hello", "pipe"):
        ours.send(word)
        print("answer", ours.recv())
    ours.send("stop")
    talker.join()

    block = mp.shared_memory.SharedMemory(create=True, size=64)
    filler = context.Process(target=fill, args=(block.name,))
    filler.start()
    filler.join()
    print("shared", bytes(block.buf[:5]))
    block.close()
    block.unlink()

    with context.Pool(4) as pool:
        print("map", pool.map(square, range(10)))
        print("unordered", sorted(pool.imap_unordered(square, range(20), chunksize=3)))
        print("apply", pool.apply_async(square, (12,)).get(timeout=30))

    with mp.get_context("spawn").Pool(2) as pool:
        print("spawned pool", pool.map(square, range(5)))

    with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as executor:
        futures = [executor.submit(square, n) for n in range(6)]
        print("futures", [future.result() for future in futures])

    crasher = context.Process(target=crash)
    crasher.start()
    crasher.join()
    print("crashed", crasher.exitcode)

    sleeper = context.Process(target=square, args=(1,))
    sleeper.start()
    sleeper.join(30)
    print("joined", sleeper.exitcode, mp.active_children())

    manager = mp.Manager()
    shared = manager.dict()
    shared["key"] = "managed"
    print(shared["key"], len(shared))
    manager.shutdown()


if __name__ == "__main__":
    main()
