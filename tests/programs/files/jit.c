/* Writes machine code into memory, makes it executable, runs it; also one that makes a system call. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	static const unsigned char add[] = { 0x8d, 0x04, 0x37, 0xc3 };            /* lea (rdi,rsi), eax; ret */
	static const unsigned char getpid_code[] = { 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	unsigned char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(memory, add, sizeof add);
	memcpy(memory + 4096, getpid_code, sizeof getpid_code);
	mprotect(memory, 8192, PROT_READ | PROT_EXEC);
	printf("%d\n", ((int (*)(int, int))(void *)memory)(40, 2));
	int same = 1;
	for (int i = 0; i < 1000; i++)
		same &= ((int (*)(void))(void *)(memory + 4096))() == getpid();
	printf("%d\n", same);
	mprotect(memory, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memory[1] = 0x44;
	memory[2] = 0x37;
	memory[3] = 0x05;
	memory[4] = 0xc3; /* lea 5(rdi,rsi), eax */
	printf("%d\n", ((int (*)(int, int))(void *)memory)(40, 2));
	return 0;
}
