/** What runs of a job said: `cron/output/<job id>/<YYYY-MM-DD_HH-MM-SS>.md`, in the form the agent writes. */
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { JOB_ID } from '../schema/cron.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { toIso, toStamp } from '../base/time-zone.ts'
import { readWholeText } from '../store/read-text.ts'

export type Report = {
  id: string
  name: string
  schedule: string
  prompt: string
  /** What was refused because nobody was there to be asked. */
  denied: readonly string[]
  result: { response: string } | { error: string }
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** The document; clients cut it after the line that begins with `## Response`. */
export const formatReport = (report: Report, at: number, zone: string): string => {
  const failed = 'error' in report.result
  const [head, body] =
    'error' in report.result
      ? ['## Error', `\`\`\`\n${report.result.error.replaceAll('```', "'''")}\n\`\`\``]
      : ['## Response', report.result.response.trim() || '(no answer)']
  return [
    `# Cron Job: ${oneLine(report.name)}${failed ? ' (FAILED)' : ''}`,
    [
      `**Job ID:** ${report.id}`,
      `**Run Time:** ${toIso(at, zone).slice(0, 19).replace('T', ' ')}`,
      `**Schedule:** ${oneLine(report.schedule)}`,
    ].join('\n'),
    `## Prompt\n\n${report.prompt.trim()}`,
    ...(report.denied.length > 0
      ? [`## Denied\n\n${report.denied.map(line => `- ${oneLine(line)}`).join('\n')}`]
      : []),
    `${head}\n\n${body}\n`,
  ].join('\n\n')
}

/** Where a job's files lie; an id that is no plain name has none. */
const folder = (dir: string, id: string): string | undefined =>
  JOB_ID.test(id) ? join(dir, 'output', id) : undefined

/** Writes one file and answers its name: two runs of one second do not share it. */
export const writeReport = (
  dir: string,
  report: Report,
  at: number,
  zone: string,
): string | null => {
  const place = folder(dir, report.id)
  if (!place) return null
  mkdirSync(place, { recursive: true, mode: 0o700 })
  let free = at
  while (statSync(join(place, `${toStamp(free, zone)}.md`), { throwIfNoEntry: false }))
    free += 1_000
  const filename = `${toStamp(free, zone)}.md`
  writeAtomic(join(place, filename), formatReport(report, at, zone))
  return filename
}

const SHOWN_CHARS = 8_000

/** The newest ones, each cut to what a page shows. Anything that is no plain file is left out. */
export const readReports = (
  dir: string,
  id: string,
  limit: number,
): { filename: string; content: string }[] => {
  const place = folder(dir, id)
  if (!place || !statSync(place, { throwIfNoEntry: false })?.isDirectory()) return []
  return readdirSync(place, { withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.md'))
    .map(entry => entry.name)
    .toSorted()
    .reverse()
    .slice(0, limit)
    .map(filename => ({
      filename,
      content: readWholeText(join(place, filename)).slice(0, SHOWN_CHARS),
    }))
}
