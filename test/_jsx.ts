/** Lets `.tsx` files be imported in tests: Node strips types by itself, but JSX has to be translated. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'

registerHooks({
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.tsx')) return next(url, context)
    const source = readFileSync(fileURLToPath(url), 'utf8')
    const { code } = transformSync(source, {
      loader: 'tsx',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      sourcemap: 'inline',
    })
    return { format: 'module', source: code, shortCircuit: true }
  },
})
