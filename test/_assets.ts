/** The assets of the page for tests: the first process of a run that needs them builds them, and saves them for the others. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'
import { listAssets } from '../build/browser.mjs'
import type { AssetTable } from '../lib/store/packed.ts'

/** Set by the test run, in a directory of its own. */
const path = process.env.TEST_ASSETS

const load = async (): Promise<AssetTable> => {
  if (path && existsSync(path)) return deserialize(readFileSync(path))
  const table = new Map((await listAssets()).assets)
  if (path) {
    // Renamed when complete, because other processes read it.
    writeFileSync(`${path}.${process.pid}`, serialize(table))
    renameSync(`${path}.${process.pid}`, path)
  }
  return table
}

let loaded: Promise<AssetTable> | undefined

export const loadAssets = (): Promise<AssetTable> => {
  loaded ??= load()
  return loaded
}
