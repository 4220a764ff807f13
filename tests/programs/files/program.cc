// Exceptions through frames, threads with futures, and a thread-local with a destructor.
#include <condition_variable>
#include <future>
#include <iostream>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

struct Noisy {
	~Noisy() { if (loud) std::cout << "thread-local gone" << std::endl; }
	bool loud = false;
};
thread_local Noisy noisy;

static int depth(int n)
{
	if (n == 0)
		throw std::runtime_error("from the bottom");
	return depth(n - 1) + 1;
}

int main()
{
	try {
		depth(1000);
	} catch (const std::exception &error) {
		std::cout << error.what() << std::endl;
	}
	std::vector<std::future<long>> parts;
	for (long n = 0; n < 8; n++)
		parts.push_back(std::async(std::launch::async, [n] {
			std::vector<long> numbers(10000);
			std::iota(numbers.begin(), numbers.end(), n);
			return std::accumulate(numbers.begin(), numbers.end(), 0L);
		}));
	long total = 0;
	for (auto &part : parts)
		total += part.get();
	std::cout << total << std::endl;
	std::thread([] { noisy.loud = true; }).join();
	std::mutex lock;
	std::condition_variable changed;
	bool ready = false;
	std::thread waiter([&] {
		std::unique_lock<std::mutex> held(lock);
		changed.wait(held, [&] { return ready; });
	});
	{
		std::lock_guard<std::mutex> held(lock);
		ready = true;
	}
	changed.notify_one();
	waiter.join();
	auto broken = std::async(std::launch::async, []() -> int { throw std::logic_error("in a thread"); });
	try {
		broken.get();
	} catch (const std::logic_error &error) {
		std::cout << error.what() << std::endl;
	}
}
