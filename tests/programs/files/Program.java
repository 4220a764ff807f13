// Threads, futures, children, files and code that gets compiled while it runs.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;

public class Program {
    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    public static void main(String[] arguments) throws Exception {
        AtomicLong total = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int n = 0; n < 20; n++) {
            final int number = n;
            Thread thread = new Thread(() -> {
                for (int i = 0; i < 1000; i++) total.addAndGet(number);
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
        System.out.println("total " + total.get());

        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> futures = new ArrayList<>();
        for (int n = 20; n < 28; n++) {
            final int number = n;
            futures.add(pool.submit(() -> fibonacci(number)));
        }
        for (Future<Integer> future : futures) System.out.println(future.get());
        pool.shutdown();
        System.out.println(pool.awaitTermination(10, TimeUnit.SECONDS));

        Process child = new ProcessBuilder("sh", "-c", "echo from a child; exit 3").start();
        System.out.print(new String(child.getInputStream().readAllBytes()));
        System.out.println(child.waitFor());

        Files.writeString(Path.of("made"), "by java");
        System.out.println(Files.readString(Path.of("made")));

        try {
            Object nothing = null;
            nothing.toString();
        } catch (NullPointerException exception) {
            System.out.println("caught");
        }
        try {
            recurse(0);
        } catch (StackOverflowError error) {
            System.out.println("the stack has an end");
        }
        for (int i = 0; i < 50; i++) { byte[] garbage = new byte[4 << 20]; garbage[i] = 1; }
        System.gc();
        System.exit(0);
    }

    static int recurse(int depth) {
        return recurse(depth + 1) + 1;
    }
}
