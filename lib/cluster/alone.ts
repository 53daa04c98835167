/** One machine: the directory is the only copy, and the instance lock the only owner. */
import type { Owned } from './cluster.ts'

/** Never aborted. */
const { signal } = new AbortController()

export const alone: Owned = {
  epoch: 0,
  tookOver: false,
  isReachable: () => true,
  isSettled: () => true,
  whenSettled: () => Promise.resolve(),
  lost: signal,
  announce() {},
  report() {},
  look: () => Promise.resolve(),
  missing: [],
  release: () => Promise.resolve(),
}
