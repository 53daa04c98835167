/** Endpoints that accept fewer tools than are available, or none: truncates the list and notifies the user. */
import type { ProviderDelta, ProviderRequest } from '../types.ts'

/** The maximum number of tools in an error message; null for other errors. */
export const toolLimit = (message: string): number | null => {
  const found =
    /(?:\btools\b|functions?\b|function declarations).{0,80}?(?:max(?:imum)?|at most|limit|up to)\D{0,30}(\d{1,4})|(?:max(?:imum)?|at most|limit|up to)\D{0,20}(\d{1,4})\s*(?:tools|functions)|(?:max(?:imum)?|limit)[^0-9]{0,30}(?:tools|functions)\D{0,20}(\d{1,4})/i.exec(
      message,
    )
  const most = Number(found?.[1] ?? found?.[2] ?? found?.[3] ?? 0)
  return most >= 1 ? most : null
}

/** The number in quirks such as `tools 64`; the smallest of several, infinite without one. `name` ends with a space. */
export const smallestLimit = (quirks: ReadonlySet<string>, name: string): number =>
  Math.min(
    Number.POSITIVE_INFINITY,
    ...[...quirks].flatMap(one => (one.startsWith(name) ? [Number(one.slice(name.length))] : [])),
  )

export const offeredTools = (
  { tools }: ProviderRequest,
  quirks: ReadonlySet<string>,
): ProviderRequest['tools'] =>
  quirks.has('no tools') ? [] : tools.slice(0, smallestLimit(quirks, 'tools '))

/** Null when all tools are included. */
const noticeFor = (request: ProviderRequest, quirks: ReadonlySet<string>): string | null => {
  const left = request.tools.length - offeredTools(request, quirks).length
  if (left === 0) return null
  const { model } = request.endpoint
  return quirks.has('no tools')
    ? `${model} doesn’t support tools, so it can only answer in text. Choose another model for work on files and commands.`
    : `${model} takes at most ${smallestLimit(quirks, 'tools ')} tools, so ${left} are left out. Turn off tools you don’t need in Settings, Tools.`
}

/** Emits the notice with the first delta, because before it the server may still reject the request. */
export async function* withToolLimitNotice(
  request: ProviderRequest,
  quirks: ReadonlySet<string>,
  deltas: AsyncGenerator<ProviderDelta>,
): AsyncGenerator<ProviderDelta> {
  const text = noticeFor(request, quirks)
  let isEmitted = false
  for await (const delta of deltas) {
    if (!isEmitted && text !== null) yield { type: 'notice', text }
    isEmitted = true
    yield delta
  }
}
