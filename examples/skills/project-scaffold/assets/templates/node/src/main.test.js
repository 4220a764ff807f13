import assert from "node:assert";
import { test } from "node:test";

import { greet } from "./main.js";

test("names the guest", () => assert.match(greet("Ada"), /Ada/));
