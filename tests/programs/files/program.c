#include <stdio.h>

int helper(int n);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("%d: %s\n", i, argv[i]);
	printf("%d\n", helper(20));
	return 0;
}
