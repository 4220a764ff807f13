/* Forks without end. ends: limit run: --timeout 8s --processes 200 */
#include "hostile.h"

int main(void)
{
	for (;;)
		fork();
}
