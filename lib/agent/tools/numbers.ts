/** Numbers of a call: what is outside the limits is moved to them, because an error would only cost a step. */
import { z } from 'zod'

export const numberWithin = (least: number, most: number) =>
  z.number().transform(value => Math.min(most, Math.max(least, Math.trunc(value))))

/** The longest time that anyone means in seconds; larger numbers are milliseconds, as other agents have them. */
const MAX_MEANT_S = 3_600

export const seconds = (most: number) =>
  z
    .number()
    .transform(value => Math.min(most, Math.max(1, value > MAX_MEANT_S ? value / 1_000 : value)))
