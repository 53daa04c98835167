/** Writes docs/error-codes.md from the codes of errors and the texts of the page: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { ERROR_CODES, type ErrorCode } from '../lib/schema/error-code.ts'
import { TEXTS } from '../public/strings/error-codes.ts'

const PATH = new URL('../docs/error-codes.md', import.meta.url)
const SOURCE = new URL('../lib/schema/error-code.ts', import.meta.url)

const rowOf = (code: ErrorCode): string =>
  `| \`${code}\` | ${(TEXTS[code] ?? 'The sentence says it all.').replaceAll('|', '\\|')} |`

/** The codes by the comments between them in the source. */
const groups = (): { title: string; codes: ErrorCode[] }[] => {
  const found: { title: string; codes: ErrorCode[] }[] = [
    { title: 'Every kind of request', codes: [] },
  ]
  for (const [, title, code] of readFileSync(SOURCE, 'utf8').matchAll(
    /^ {2}(?:\/\/ (.+)|'(\w+)',)$/gm,
  ))
    if (title) found.push({ title, codes: [] })
    else found.at(-1)!.codes.push(code as ErrorCode)
  return found
}

/** The whole page. */
export const errorCodesPage = (): string => {
  const parts = groups().map(
    ({ title, codes }) => `## ${title}

| code | what the page says |
|---|---|
${codes.map(rowOf).join('\n')}
`,
  )
  return `# Error codes

Generated from \`lib/schema/error-code.ts\` by \`npm run docs\`; do not edit.

A response with an error is \`{"error": "…", "code": "…"}\`: an English sentence, which may change, and a code, which does not. Where the
sentence names something, \`values\` has it. The page shows its own text for the code, in the language of the page, with the values at the
names in braces; for the other codes it quotes the sentence. Where a value is a sentence itself, \`sentences\` has its code and values under
the same name (\`lib/base/sentences.ts\`); so it is beside every other sentence that the page translates. Requests to \`/v1\` have the errors of those APIs: [API for other programs](api.md).

${parts.join('\n')}`
}

/** Codes that a group of the page lacks. */
export const undocumented = (): ErrorCode[] => {
  const listed = new Set(groups().flatMap(({ codes }) => codes))
  return ERROR_CODES.filter(code => !listed.has(code))
}

if (import.meta.main) writeFileSync(PATH, errorCodesPage())
