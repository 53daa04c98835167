/** What a card's heading needs of a call's arguments. */

const ARG_CHARS = 120
const ARGS_SHOWN = 4

/** The first four arguments as text, each cut to 120 characters: what a card's heading needs. */
export const shortArgs = (args: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(args)
      .slice(0, ARGS_SHOWN)
      .map(([key, value]) => {
        const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
        return [key, text.length > ARG_CHARS ? `${text.slice(0, ARG_CHARS)}...` : text]
      }),
  )
