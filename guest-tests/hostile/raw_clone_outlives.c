/* Ends at once, and leaves copies that the kernel does not know, on a host without pid namespaces. where: no namespaces run: --timeout 20s */
#include "hostile.h"

enum { COPIES = 3 };

int main(void)
{
	for (int n = 0; n < COPIES; n++)
		if (raw_clone())
			for (;;)
				host_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	puts("held");
	return 0;
}
