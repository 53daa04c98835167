/** Small real projects for everyday commands, with what an install would have left. Paths are relative to the home. */

/** A linter and the like: a real program of `node_modules` that reads the sources. */
const tool = (name: string): Record<string, string> => ({
  [`js/node_modules/${name}/package.json`]: `{"name": "${name}", "version": "1.0.0", "bin": "bin.js"}\n`,
  [`js/node_modules/${name}/bin.js`]: `#!/usr/bin/env node
const fs = require('node:fs')
const path = require('node:path')
const files = fs.readdirSync('src').map(name => path.join('src', name))
const size = files.reduce((sum, file) => sum + fs.readFileSync(file).length, 0)
if (process.argv.includes('--write')) for (const file of files) fs.writeFileSync(file, fs.readFileSync(file))
if (process.argv.includes('--outDir')) fs.mkdirSync('dist', { recursive: true })
console.log('${name}:', files.length, 'files,', size, 'bytes')
`,
  // In a real one a link.
  [`js/node_modules/.bin/${name}`]: `#!/usr/bin/env node\nrequire('../${name}/bin.js')\n`,
})

const JS: Readonly<Record<string, string>> = {
  'js/.gitignore': 'node_modules\ndist\ncoverage\n.env\n',
  'js/package.json': `{
  "name": "shop",
  "version": "1.2.0",
  "main": "src/index.js",
  "scripts": {
    "build": "tsc --outDir dist",
    "lint": "eslint src",
    "format": "prettier --write src",
    "start": "node src/index.js",
    "test": "node --test test"
  },
  "dependencies": { "left": "1.0.0" },
  "devDependencies": { "eslint": "1.0.0", "jest": "1.0.0", "prettier": "1.0.0", "typescript": "1.0.0" }
}
`,
  'js/package-lock.json':
    '{"name": "shop", "version": "1.2.0", "lockfileVersion": 3, "packages": {}}\n',
  'js/README.md': '# Shop\n\nA small shop. See `src/`.\n\n## TODO\n\n- carts\n',
  'js/.env': 'PORT=3000\n',
  'js/.env.example': 'PORT=3000\n',
  'js/tsconfig.json': '{"compilerOptions": {"strict": true}}\n',
  'js/src/index.js':
    "const { total } = require('./cart')\nconsole.log(total([{ price: 2, count: 3 }]))\n",
  'js/src/cart.js':
    '// TODO discounts\nexports.total = items => items.reduce((sum, { price, count }) => sum + price * count, 0)\n',
  'js/test/cart.test.js':
    "const test = require('node:test')\nconst assert = require('node:assert')\nconst { total } = require('../src/cart')\ntest('adds up', () => assert.equal(total([{ price: 2, count: 3 }]), 6))\n",
  'js/node_modules/left/package.json': '{"name": "left", "version": "1.0.0", "main": "index.js"}\n',
  'js/node_modules/left/index.js': 'module.exports = 1\n',
  ...Object.assign({}, ...['tsc', 'eslint', 'prettier', 'jest', 'vitest'].map(tool)),
}

const PY: Readonly<Record<string, string>> = {
  'py/.gitignore': '__pycache__\n.venv\n*.pyc\n',
  'py/pyproject.toml': '[project]\nname = "stats"\nversion = "0.3.0"\n',
  'py/README.md': '# Stats\n',
  'py/stats/__init__.py': 'from .mean import mean\n',
  'py/stats/__main__.py': 'from . import mean\n\nprint(mean([1, 2, 3]))\n',
  'py/stats/mean.py':
    'def mean(values):\n    """The mean."""\n    return sum(values) / len(values)\n',
  'py/tests/__init__.py': '',
  'py/tests/test_mean.py':
    'import unittest\n\nfrom stats import mean\n\n\nclass TestMean(unittest.TestCase):\n    def test_mean(self):\n        self.assertEqual(mean([1, 2, 3]), 2)\n',
  'py/data/rows.csv': 'id,name,score\n1,ada,9\n2,bob,7\n3,cyd,8\n',
  'py/data/rows.json': '[{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}]\n',
  'py/scripts/report.py':
    'import csv\n\nwith open("data/rows.csv") as file:\n    print(sum(int(row["score"]) for row in csv.DictReader(file)))\n',
  // A virtual environment: its interpreter is the one of the system.
  'py/.venv/bin/python': '#!/bin/sh\nexec python3 "$@"\n',
  'py/.venv/bin/pytest': '#!/bin/sh\nexec python3 -m unittest -q\n',
  'py/.venv/bin/activate': 'export VIRTUAL_ENV=$PWD/.venv PATH=$PWD/.venv/bin:$PATH\n',
}

const GO: Readonly<Record<string, string>> = {
  'go-app/go.mod': 'module example.org/app\n\ngo 1.22\n',
  'go-app/main.go': 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(greet("ada")) }\n',
  'go-app/greet.go': 'package main\n\nfunc greet(name string) string { return "hello " + name }\n',
  'go-app/greet_test.go':
    'package main\n\nimport "testing"\n\nfunc TestGreet(t *testing.T) { if greet("x") == "" { t.Fail() } }\n',
}

const RUST: Readonly<Record<string, string>> = {
  'rust/.gitignore': 'target\n',
  'rust/Cargo.toml': '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
  'rust/src/lib.rs':
    'pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n}\n',
  'rust/src/main.rs': 'fn main() {\n    println!("{}", calc::add(1, 2));\n}\n',
}

const C: Readonly<Record<string, string>> = {
  'c/.gitignore': '*.o\nbuild\ncount\n',
  'c/Makefile':
    'CFLAGS = -Wall\ncount: count.o\n\t$(CC) -o $@ $^\ntest: count\n\techo a b | ./count\nclean:\n\trm -f *.o count\n.PHONY: test clean\n',
  'c/CMakeLists.txt':
    'cmake_minimum_required(VERSION 3.5)\nproject(count C)\nadd_executable(count count.c)\n',
  'c/count.c':
    '#include <stdio.h>\n\n/* TODO lines */\nint main(void) {\n  int c, n = 0;\n  while ((c = getchar()) != EOF) n++;\n  printf("%d\\n", n);\n  return 0;\n}\n',
  'c/words.txt': 'one\ntwo\nthree\n',
  'c/app.log': 'info start\nerror disk\ninfo end\n',
}

export const PROJECTS: Readonly<Record<string, string>> = { ...JS, ...PY, ...GO, ...RUST, ...C }
/** Each is a repository and a workspace. */
export const PROJECT_NAMES = ['js', 'py', 'go-app', 'rust', 'c'] as const
