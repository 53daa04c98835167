/** Runs a function until V8 optimizes it; with `prevented`, after `setV8Flags`. For `--trace-opt`. */
import { setV8Flags } from '../../../lib/app/v8-flags.ts'

if (process.argv[2] === 'prevented') setV8Flags()
const sum = (n: number): number => {
  let total = 0
  for (let i = 0; i < n; i++) total += i % 7
  return total
}
for (let round = 0; round < 20_000; round++) sum(1_000)
