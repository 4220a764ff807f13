export function greet(who) {
  return `Hello, ${who}, from @NAME@`;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  console.log(greet("you"));
}
