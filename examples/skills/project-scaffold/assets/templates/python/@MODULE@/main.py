"""The command of @NAME@."""


def greet(who):
    return f"Hello, {who}, from @NAME@"


def main():
    print(greet("you"))


if __name__ == "__main__":
    main()
