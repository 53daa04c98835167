/** The page of a shared chat: one document without scripts, cookies or requests, and its Content-Security-Policy. */
import { escapeHtml, inlineHashes } from '../../http/html-template.ts'
import type { ReplyOptions } from '../../http/reply.ts'
import { codeBlock, decisionHtml, markdownHtml, plainHtml } from './markdown-html.ts'
import type { SharedPart, SharedStep } from './shared-chat.ts'

const STYLE = `
:root{color-scheme:light dark;--bg:#faf8f3;--raised:#fffdf9;--sunken:#f3f0e8;--line:#8c867a;--text:#24211b;--dim:#57534a;--accent:#1f6b58;--warn:#8a5a00}
@media (prefers-color-scheme:dark){:root{--bg:#191915;--raised:#22221d;--sunken:#141411;--line:#78746a;--text:#ece9e0;--dim:#b5b1a5;--accent:#86cdb4;--warn:#e0b354}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:1rem/1.6 system-ui,sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:46rem;margin:0 auto;padding:0 20px}
header{padding-block:48px 16px}
h1{margin:0 0 8px;font:600 1.75rem/1.25 Georgia,serif}
header p,footer p{margin:0;color:var(--dim);font-size:.875rem}
main{padding-block:8px 32px}
article{margin-block:24px 0}
article.request{padding:12px 16px 1px;border-radius:10px;background:var(--raised)}
article>h2{display:flex;flex-wrap:wrap;gap:4px 12px;margin:0 0 4px;color:var(--dim);font:600 .8125rem/1.6 system-ui,sans-serif}
article>h2 time{font-weight:400}
.plain{white-space:pre-wrap}
p{margin:0 0 12px}
h3,h4,h5,h6{margin:24px 0 8px;font-family:Georgia,serif;line-height:1.3}
h3{font-size:1.3rem}h4{font-size:1.15rem}h5,h6{font-size:1rem}
ul,ol{margin:0 0 12px;padding-inline-start:24px}
li.task{list-style:none;margin-inline-start:-20px}li.task>p{display:inline}
blockquote{margin:0 0 12px;padding-inline-start:16px;border-inline-start:3px solid var(--line);color:var(--dim)}
code{padding:1px 4px;border-radius:4px;background:var(--sunken);font:.875em/1.5 ui-monospace,monospace}
pre{margin:0 0 12px;padding:12px 16px;overflow:auto;border:1px solid color-mix(in srgb,var(--line) 32%,transparent);border-radius:10px;background:var(--sunken)}
pre code{padding:0;background:none;white-space:pre;overflow-wrap:normal;font-size:.8125rem}
.wide{margin:0 0 12px;overflow-x:auto}
table{border-collapse:collapse;font-size:.9375rem;overflow-wrap:normal}
th,td{padding:6px 12px;border:1px solid color-mix(in srgb,var(--line) 40%,transparent);text-align:start}
th{background:var(--sunken)}.right{text-align:end}.center{text-align:center}
a{color:var(--accent)}.host,.named{color:var(--dim)}.named{font-style:italic}
hr{margin:24px 0;border:0;border-top:1px solid var(--line)}
.notes{margin-top:24px;font-size:.875rem;color:var(--dim)}
.steps{margin:0 0 12px;padding:0;list-style:none;color:var(--dim);font-size:.875rem}
.steps li{padding-block:2px}
summary{cursor:pointer;padding-block:2px}
details pre{margin-block:8px}details pre code{white-space:pre-wrap}
.decision{color:var(--dim);font-size:.875rem}.decision b{font-weight:600}
.failed{color:var(--warn)}
.files{color:var(--dim);font-size:.875rem}
figure{margin:0 0 12px}img{display:block;max-width:100%;max-height:32rem;border-radius:10px}
a:focus-visible,summary:focus-visible,pre:focus-visible,.wide:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
footer{padding-block:16px 48px}footer p{padding-top:16px;border-top:1px solid color-mix(in srgb,var(--line) 40%,transparent)}
@media print{pre code{white-space:pre-wrap}header{padding-top:0}article{break-inside:auto}}
`

const POLICY = [
  // No scripts, forms or requests even if markup got in; links open in tabs of their own.
  'sandbox allow-popups allow-popups-to-escape-sandbox',
  "default-src 'none'",
  `style-src ${inlineHashes(`<style>${STYLE}</style>`, 'style').join(' ')}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Only what a link may show, and nothing that remembers it or passes its address on. */
export const SHARE_REPLY: ReplyOptions = {
  policy: POLICY,
  referrer: 'no-referrer',
  headers: { 'X-Robots-Tag': 'noindex, nofollow, noarchive', 'X-DNS-Prefetch-Control': 'off' },
}

const TIME = new Intl.DateTimeFormat('en-US', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** `seconds` since 1970, or nothing where the value is no time. */
const timeHtml = (seconds: number | null): string => {
  const time = seconds === null ? null : new Date(seconds * 1_000)
  if (time === null || Number.isNaN(time.getTime())) return ''
  return `<time datetime="${time.toISOString()}">${escapeHtml(TIME.format(time))} UTC</time>`
}

const documentOf = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex,nofollow,noarchive">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>${body}</body></html>
`

const stepHtml = ({ words, input, output }: SharedStep, count: number): string => {
  const line = escapeHtml(count > 1 ? `${words} (${count} times)` : words)
  if (input === '' && output === '') return `<li>${line}</li>`
  const blocks = [input, output].filter(text => text !== '').map(codeBlock)
  return `<li><details><summary>${line}</summary>${blocks.join('')}</details></li>`
}

/** Equal steps in a row become one line with their number. */
const stepsHtml = (steps: readonly SharedStep[]): string => {
  const lines: { step: SharedStep; count: number }[] = []
  for (const step of steps) {
    const last = lines.at(-1)
    const isSame = last?.step.words === step.words && !step.input && !step.output
    if (last && isSame && !last.step.input && !last.step.output) last.count += 1
    else lines.push({ step, count: 1 })
  }
  const items = lines.map(({ step, count }) => stepHtml(step, count))
  return `<ul class="steps">${items.join('')}</ul>`
}

const requestHtml = (part: SharedPart & { kind: 'request' }): string => {
  const { at, text, files, pictures } = part
  const figures = pictures.map(
    (url, index) =>
      `<figure><img src="${escapeHtml(url)}" alt="Picture ${index + 1} of this message"></figure>`,
  )
  const names =
    files.length > 0 ? `<p class="files">Attached: ${escapeHtml(files.join(', '))}</p>` : ''
  return `<article class="request"><h2>Message ${timeHtml(at)}</h2>${text === '' ? '' : plainHtml(text)}${figures.join('')}${names}</article>`
}

const answerHtml = (parts: readonly SharedPart[], botName: string): string => {
  const html: string[] = []
  let steps: SharedStep[] = []
  const flush = (): void => {
    if (steps.length > 0) html.push(stepsHtml(steps))
    steps = []
  }
  for (const part of parts) {
    if (part.kind === 'step') steps.push(part.step)
    else {
      flush()
      if (part.kind === 'text') html.push(markdownHtml(part.text))
      if (part.kind === 'decision') html.push(decisionHtml(part.sentence))
      if (part.kind === 'failed')
        html.push('<p class="failed">This answer was stopped or ended with an error.</p>')
    }
  }
  flush()
  return `<article class="answer"><h2>${escapeHtml(botName)} ${timeHtml(parts[0]?.at ?? null)}</h2>${html.join('\n')}</article>`
}

const articles = (parts: readonly SharedPart[], botName: string): string => {
  const html: string[] = []
  let answer: SharedPart[] = []
  const flush = (): void => {
    if (answer.length > 0) html.push(answerHtml(answer, botName))
    answer = []
  }
  for (const part of parts) {
    if (part.kind !== 'request') answer.push(part)
    else {
      flush()
      html.push(requestHtml(part))
    }
  }
  flush()
  return html.join('\n')
}

export type SharedChat = {
  title: string
  botName: string
  parts: readonly SharedPart[]
  live: boolean
  /** Seconds since 1970. */
  created_at: number
  /** Null in a preview. */
  expires_at: number | null
}

export const sharePage = (chat: SharedChat): string => {
  const { title, botName, parts, live, created_at, expires_at } = chat
  const state = live
    ? 'Kept up to date: reload the page to see newer messages.'
    : `As it was on ${timeHtml(created_at)}. Later messages aren’t included.`
  const end = expires_at === null ? '' : ` This link works until ${timeHtml(expires_at)}.`
  const main = articles(parts, botName) || '<p>This chat has no messages.</p>'
  return documentOf(
    title,
    `<header><h1 dir="auto">${escapeHtml(title)}</h1><p>Read-only copy of a chat. ${state}</p></header>
<main>${main}</main>
<footer><p>Answers were written by AI and may be wrong.${end}</p></footer>`,
  )
}

/** The same for unknown, revoked and expired links and when links are off, so that it reveals nothing. */
export const MISSING_PAGE = documentOf(
  'Link not available',
  '<header><h1>This link isn’t available</h1><p>It may have expired, or the person who made it revoked it.</p></header>',
)

export const BUSY_PAGE = documentOf(
  'Too many attempts',
  '<header><h1>Too many attempts</h1><p>Wait a minute, then try again.</p></header>',
)
