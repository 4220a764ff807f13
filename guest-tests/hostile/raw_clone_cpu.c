/* Uses CPU time in a copy that the kernel does not know, and lets it end before it is found. ends: limit run: --timeout 30s --cpu 1s */
#include "hostile.h"

int main(void)
{
	for (int n = 0; n < 100; n++) {
		if (raw_clone()) {
			double until = seconds() + 0.2;
			while (seconds() < until)
				;
			host_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
		}
		usleep(250000);
	}
	escaped("20 seconds of CPU time were not counted");
}
