/* Fills files through mappings beyond what --disk allows, where no call can refuse it. ends: limit at most: 110M run: --timeout 30s --disk 64M */
#include "hostile.h"

int main(void)
{
	for (int n = 0; n < 32; n++) {
		char name[64];
		sprintf(name, "/tmp/file%d", n);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (ftruncate(fd, 32 << 20))
			return DIFFERS;
		char *at = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		for (long i = 0; at != MAP_FAILED && i < 32 << 20; i += 4096)
			at[i] = 1;
	}
	escaped("more in files than allowed");
}
