/* Signals, limits and looks at processes of the host. run: --timeout 1h */
#include "hostile.h"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

int main(void)
{
	char buffer[256];
	struct iovec here = { buffer, sizeof buffer }, there = { (void *)0x400000, sizeof buffer };
	int reached = 0;
	for (int pid = 2; pid < 40000; pid++) {
		if (pid == getpid() || pid == getppid())
			continue;
		if (kill(pid, SIGKILL) == 0)
			reached++;
		if (pid > 200)
			continue;
		struct rlimit limit = { 0, 0 };
		if (prlimit(pid, RLIMIT_NOFILE, &limit, NULL) == 0)
			escaped("a limit of another process was set");
		if (ptrace(PTRACE_ATTACH, pid, 0, 0) == 0)
			escaped("another process was traced");
		if (process_vm_readv(pid, &here, 1, &there, 1, 0) > 0)
			escaped("memory of another process was read");
		if (setpriority(PRIO_PROCESS, pid, 19) == 0)
			reached++;
	}
	if (reached)
		escaped("processes were reached that are not in the sandbox");
	/* Claims in the channel: the kernel must not believe whose thread this is. */
	for (uint32_t claim = 1; claim < 3000; claim++) {
		for (uint64_t slot = 0; slot < 2; slot++)
			((volatile uint32_t *)SLOT(slot))[SLOT_HOST_TID / 4] = claim;
		cpu_set_t *set = (cpu_set_t *)buffer;
		memset(set, 1, sizeof buffer);
		syscall(SYS_sched_setaffinity, 0, sizeof buffer, set);
	}
	puts("held");
	return 0;
}
