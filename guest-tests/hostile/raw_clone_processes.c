/* Copies its host process without the kernel, and its copies copy themselves. ends: attack run: --timeout 20s --processes 8 */
#include "hostile.h"

enum { COPIES = 60 };

int main(void)
{
	for (int n = 0; n < COPIES; n++) {
		/* A copy says no hello. */
		if (raw_clone())
			for (;;)
				host_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	/* Waits in the kernel: no thread that it knows of can run. */
	sleep(10);
	escaped("processes hid for ten seconds");
}
