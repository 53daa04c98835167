/** What a whole run builds before its files: the single file and the assets of the page, which are bundled once for both. Takes the options of build.mjs. */
import { loadAssets } from './_assets.ts'

// A start that loads what it should not fails here.
process.env.CHECK_START = '1'
// Not a literal, because it has no types.
const build = new URL('../build.mjs', import.meta.url).href
await Promise.all([loadAssets(), import(build)])
