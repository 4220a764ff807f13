int helper(int n)
{
	return n < 2 ? n : helper(n - 1) + helper(n - 2);
}
