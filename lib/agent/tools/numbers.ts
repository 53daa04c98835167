/** Numbers of a call: what is outside the limits is moved to them, because an error would only cost a step. */
import { z } from 'zod'

export const numberWithin = (least: number, most: number) =>
  z.number().transform(given => Math.min(most, Math.max(least, Math.trunc(given))))

/** The longest time that anyone means in seconds; larger numbers are milliseconds, as other agents have them. */
const MAX_MEANT_S = 3_600

export const seconds = (most: number) =>
  z
    .number()
    .transform(given => Math.min(most, Math.max(1, given > MAX_MEANT_S ? given / 1_000 : given)))
