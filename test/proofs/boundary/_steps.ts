/** A step of a line of a corpus as the call of a tool: a shell command, or one of four words, a colon, and what it needs. */
export const toCall = (
  step: string,
  timeout: number,
): { name: string; arguments: Record<string, unknown> } => {
  const [, kind, rest = ''] = /^(write|code|background|unconfined): ?([\s\S]*)$/.exec(step) ?? []
  if (kind === 'write') {
    const [, path, content] = /^(\S+) ?([\s\S]*)$/.exec(rest) ?? []
    return { name: 'write_file', arguments: { path, content: `${content}\n` } }
  }
  if (kind === 'code') return { name: 'execute_code', arguments: { code: rest } }
  if (kind === 'background')
    return { name: 'terminal', arguments: { command: rest, background: true } }
  const more = kind === undefined ? {} : { access: kind }
  return { name: 'terminal', arguments: { command: kind ? rest : step, timeout, ...more } }
}
