"""Runs one of CPython's own test modules and writes how each test ended.

Called as `driver.py RESULTS MODULE [TEST...]`. Every line of RESULTS is an outcome, a tab and the
name of a test. A test is named `started` before it runs, so that one that takes the whole run
down is known too. No resource that the tests can ask for (network, a large disk, much CPU time)
is granted, as in `python -m test`.
"""

import faulthandler
import os
import sys
import unittest


class Results(unittest.TextTestResult):
    def say(self, outcome, test):
        # A part of a test counts as the test; setting up a class or module has a name of its own.
        test = getattr(test, "test_case", test)
        self.file.write(f"{outcome}\t{test.id()}\n")
        self.file.flush()

    def startTest(self, test):
        self.say("started", test)
        super().startTest(test)

    def addSuccess(self, test):
        self.say("passed", test)
        super().addSuccess(test)

    def addExpectedFailure(self, test, error):
        self.say("passed", test)
        super().addExpectedFailure(test, error)

    def addSkip(self, test, reason):
        self.say("skipped", test)
        super().addSkip(test, reason)

    def addFailure(self, test, error):
        self.say("failed", test)
        super().addFailure(test, error)

    def addError(self, test, error):
        self.say("failed", test)
        super().addError(test, error)

    def addUnexpectedSuccess(self, test):
        self.say("failed", test)
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.say("failed", test)
        super().addSubTest(test, subtest, error)


def main():
    results, module, *tests = sys.argv[1:]
    from test import support
    from test.support import os_helper

    faulthandler.enable()
    support.use_resources = []
    support.verbose = 1
    os.environ["PYTHONUNBUFFERED"] = "1"
    with open(results, "w") as file, os_helper.temp_cwd("work", quiet=True):
        Results.file = file
        # Tests of a module's `__main__` guard import `test.MODULE` by its own name.
        names = tests or [f"test.{module}"]
        suite = unittest.defaultTestLoader.loadTestsFromNames(names)
        runner = unittest.TextTestRunner(verbosity=2, resultclass=Results)
        runner.run(suite)
        file.write("finished\t-\n")


if __name__ == "__main__":
    main()
