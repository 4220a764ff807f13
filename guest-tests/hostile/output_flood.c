/* Writes without end. ends: limit run: --timeout 1h --output-limit 8M */
#include "hostile.h"

int main(void)
{
	static char block[1 << 16];
	memset(block, 'x', sizeof block);
	for (;;)
		if (write(1, block, sizeof block) < 0 && errno != EAGAIN)
			return 1;
}
