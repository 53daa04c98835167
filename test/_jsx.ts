/** Loader for .tsx in Node: Node strips types, esbuild compiles JSX. Import it before the first dynamic .tsx import. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'

registerHooks({
  load(url, context, next) {
    if (!url.endsWith('.tsx')) return next(url, context)
    const source = readFileSync(fileURLToPath(url), 'utf8')
    const { code } = transformSync(source, {
      loader: 'tsx',
      jsx: 'automatic',
      jsxImportSource: 'preact',
    })
    return { format: 'module', source: code, shortCircuit: true }
  },
})
