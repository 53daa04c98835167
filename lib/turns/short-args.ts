/** Tool call arguments, shortened for the heading of a card. */

const MAX_ARG_CHARS = 120
const MAX_ARGS = 4

/** The first four arguments as text, each truncated to 120 characters. */
export const shortArgs = (args: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(args)
      .slice(0, MAX_ARGS)
      .map(([key, value]) => {
        const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
        return [key, text.length > MAX_ARG_CHARS ? `${text.slice(0, MAX_ARG_CHARS)}...` : text]
      }),
  )
