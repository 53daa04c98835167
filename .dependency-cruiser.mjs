/** Who may import whom. ARCHITECTURE.md describes the layers. */

/** The folders and files of lib/, lowest first: a module imports values only of its own folder and of those before it. */
const ORDER = [
  ['base', 'errors', 'schema'],
  ['store', 'config'],
  ['http'],
  ['agent'],
  ['profiles'],
  ['sessions'],
  ['models'],
  ['mcp'],
  ['commands'],
  ['workspaces'],
  ['web'],
  ['people'],
  ['notifications'],
  ['operations'],
  ['cron'],
  ['turns'],
  ['client-api'],
  ['cluster'],
  ['app', 'cli', 'context', 'start'],
]

const within = names => `^lib/(?:${names.join('|')})(?:/|\\.ts$)`
const after = name => ORDER.slice(ORDER.findIndex(names => names.includes(name)) + 1).flat()
const above = name => [
  within(after(name)),
  '^(?:handlers|public|test|bench|eval)/',
  '^router\\.ts$',
]

/** The modules with full-text statements, and the worker that runs them. */
const FULL_TEXT = '^lib/sessions/(?:search-worker|search-index|ranked-hits|stored-sessions)\\.ts$'

/** Only a value: types of the other are fine. */
const VALUE = { dependencyTypesNot: ['type-only'] }

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })

export default {
  forbidden: [
    ...ORDER.slice(0, -1).map(names =>
      forbid(
        `${names[0]}-imports-down`,
        'ORDER in this file. A type of a later folder is fine: it costs nothing at run time.',
        { path: within(names) },
        { path: above(names[0]), ...VALUE },
      ),
    ),
    // Also no types: what everything else stands on must be readable alone.
    ...['base', 'store', 'http'].map(name =>
      forbid(
        `${name}-is-readable-alone`,
        'The foundation knows nothing of what is built on it.',
        { path: `^lib/${name}/` },
        { path: above(name) },
      ),
    ),
    forbid(
      'engine-alone',
      'The engine imports the foundation, and of the store only paths and bytes of text.',
      { path: '^lib/agent/' },
      {
        path: '^(?:lib|handlers|router)',
        pathNot: [
          within(['schema', 'errors', 'base', 'agent']),
          '^lib/store/(?:write-in-place|path-within|text-bytes|text-rewrite)\\.ts$',
        ],
      },
    ),
    forbid(
      'handler-gets-its-context',
      'What has a lifetime or a file comes with the context.',
      { path: '^handlers/' },
      {
        path: '^(?:handlers/|lib/(?:app|cli|store)/|lib/(?:start|config|operations/(?:preflight|log))\\.ts$)',
        ...VALUE,
      },
    ),
    forbid(
      'router-lists-handlers',
      'The route table imports handlers and starts the service.',
      { path: '^router\\.ts$' },
      { path: '^lib/', pathNot: within(['app', 'context', 'start']), ...VALUE },
    ),
    forbid(
      'page-without-server',
      'The page imports of the server lib/base, and types of the router and of lib/schema.',
      { path: '^public/' },
      { path: '^(?:router\\.ts$|lib/|handlers/)', pathNot: '^lib/base/', ...VALUE },
    ),
    forbid(
      'page-knows-schemas',
      'The page imports of the server lib/base, and types of the router and of lib/schema.',
      { path: '^public/' },
      { path: '^(?:lib/|handlers/|test/)', pathNot: '^lib/(?:base|schema)/' },
    ),
    forbid(
      'full-text-in-the-worker',
      'A full-text statement blocks for tens of milliseconds: only the worker and the command line run it.',
      { pathNot: `^lib/cli/|${FULL_TEXT}` },
      { path: FULL_TEXT, ...VALUE },
    ),
    forbid(
      'no-cycle',
      'Of values that are imported at once.',
      {},
      {
        circular: true,
        viaOnly: { dependencyTypesNot: ['type-only', 'dynamic-import'] },
      },
    ),
  ],
  options: {
    // TypeScript's own parser tells imports of types from those of values.
    parser: 'tsc',
    tsPreCompilationDeps: true,
    exclude: 'node_modules',
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.mjs'] },
  },
}
