/* 200 threads alive at one time that count under a mutex and wait at a barrier. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 200, ROUNDS = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long total;

static void *work(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		total += (long)argument;
		pthread_mutex_unlock(&lock);
	}
	pthread_barrier_wait(&barrier);
	return argument;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0) {
			printf("no thread %ld\n", i);
			return 1;
		}
	long sum = 0;
	for (int i = 0; i < THREADS; i++) {
		void *result;
		pthread_join(threads[i], &result);
		sum += (long)result;
	}
	printf("%ld %ld\n", total, sum);
	return 0;
}
