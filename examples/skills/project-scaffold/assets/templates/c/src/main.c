#include <stdio.h>

int main(int argc, char **argv)
{
	printf("Hello, %s, from @NAME@\n", argc > 1 ? argv[1] : "you");
	return 0;
}
