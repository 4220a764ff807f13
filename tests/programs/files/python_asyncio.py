"""An event loop with timers, children, servers and signals."""
import asyncio
import os
import signal
import sys


async def children():
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate(b"through a child")
    print(output, process.returncode)
    codes = await asyncio.gather(*(shell(f"exit {n}") for n in range(5)))
    print("codes", codes)
    sleeper = await asyncio.create_subprocess_exec("sleep", "30")
    sleeper.terminate()
    print("terminated", await sleeper.wait())
    lines = await asyncio.create_subprocess_exec(
        sys.executable, "-u", "-c", "for n in range(3): print(n)", stdout=asyncio.subprocess.PIPE
    )
    print("lines", [int(line) async for line in lines.stdout], await lines.wait())


async def shell(command):
    process = await asyncio.create_subprocess_shell(command)
    return await process.wait()


async def server():
    async def answer(reader, writer):
        line = await reader.readline()
        writer.write(line[::-1])
        await writer.drain()
        writer.close()

    for where in ("tcp", "unix"):
        if where == "tcp":
            listening = await asyncio.start_server(answer, "127.0.0.1", 0)
            port = listening.sockets[0].getsockname()[1]
            connect = lambda: asyncio.open_connection("127.0.0.1", port)
        else:
            listening = await asyncio.start_unix_server(answer, "answer.sock")
            connect = lambda: asyncio.open_unix_connection("answer.sock")

        async def ask(number):
            reader, writer = await connect()
            writer.write(f"{number}\n".encode())
            answer = await reader.read()
            writer.close()
            return answer

        print(where, await asyncio.gather(*(ask(n) for n in (12, 34, 56))))
        listening.close()
        await listening.wait_closed()
    if os.path.exists("answer.sock"):
        os.unlink("answer.sock")


async def main():
    order = []

    async def later(delay, name):
        await asyncio.sleep(delay)
        order.append(name)

    await asyncio.gather(later(0.15, "third"), later(0.05, "first"), later(0.1, "second"))
    print(order)
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.05)
    except asyncio.TimeoutError:
        print("timed out")
    await children()
    await server()
    print("executor", await asyncio.get_running_loop().run_in_executor(None, sum, range(100)))
    received = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, received.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(received.wait(), 5)
    print("signal received")


asyncio.run(main())
