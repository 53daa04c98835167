/** What npm would install although neither a build nor the service reads it: two thirds of the files, half of the bytes. Runs on any Node. */
import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

// ── Packages ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** By a package, those of its dependencies that are not needed here. */
const LEFT_OUT = {
  // build/browser.mjs bundles the file of mermaid that contains them.
  mermaid: () => true,
  // For HTML as text: lib/web/readable.ts passes elements.
  turndown: name => name === '@mixmark-io/domino',
  // Types only.
  '@opentelemetry/otlp-transformer': name => name === '@opentelemetry/sdk-logs',
}

const KINDS = ['dependencies', 'optionalDependencies', 'peerDependencies']

/** The path of the package that `name` means in the package at `from`. */
const findPackage = (packages, from, name) => {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (packages[path] || at === '') return path
  }
}

/** Paths of the packages that the root project needs, itself first. */
const findNeeded = (packages, kindsOfRoot) => {
  const found = new Set([''])
  for (const from of found) {
    const kinds = from === '' ? kindsOfRoot : KINDS
    for (const name of kinds.flatMap(kind => Object.keys(packages[from][kind] ?? {}))) {
      const path = findPackage(packages, from, name)
      if (packages[path]) found.add(path)
    }
  }
  return found
}

/** The packages of a lock file without those that are left out. */
export const leaveOut = packages => {
  const kept = Object.fromEntries(
    Object.entries(packages).map(([path, entry]) => {
      const isLeftOut = LEFT_OUT[path.replace(/^node_modules\//, '')]
      if (!isLeftOut || !entry.dependencies) return [path, entry]
      const names = Object.entries(entry.dependencies).filter(([name]) => !isLeftOut(name))
      return [path, { ...entry, dependencies: Object.fromEntries(names) }]
    }),
  )
  const used = findNeeded(kept, KINDS)
  const all = findNeeded(kept, [...KINDS, 'devDependencies'])
  return Object.fromEntries(
    Object.entries(kept)
      .filter(([path]) => all.has(path))
      // What only a test tool needs now is one.
      .map(([path, entry]) => [path, used.has(path) ? entry : { ...entry, dev: true }]),
  )
}

// ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const UNREAD = new RegExp(
  [
    // Source maps, TypeScript and its declarations, documentation.
    '\\.(?:map|[cm]?tsx?)$',
    '/(?:readme|changelog|history)\\.md$',
    '^(?:@[^/]+/)?[^@/][^/]*/(?:demo|test)(?:/|$)',
    // Headers and sources of native code, other builds of the same code.
    '^node-[^/]+/include(?:/|$)',
    '^better-sqlite3/deps(?:/|$)',
    '^highlight\\.js/(?:scss|styles)(?:/|$)',
    '^mermaid/dist/(?:mermaid(?:\\.min)?\\.js|mermaid\\.(?:core|esm)\\.mjs|chunks/mermaid\\.(?:core|esm)(?:/.*)?)$',
  ].join('|'),
  'i',
)

/** `path` of a file, relative to node_modules. */
export const isUnread = path => UNREAD.test(path)

/** Removes the files of `modules` that nothing reads. */
export const removeUnread = (modules, folder = '') => {
  for (const name of readdirSync(join(modules, folder))) {
    const path = folder === '' ? name : `${folder}/${name}`
    if (isUnread(path)) rmSync(join(modules, path), { recursive: true })
    else if (lstatSync(join(modules, path)).isDirectory()) removeUnread(modules, path)
  }
}
