/** Secrets as they are in the world, none of them real: known by value, and known by shape. */

const spread = (alphabet: string, length: number, seed = 7): string => {
  let state = seed
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return alphabet[state % alphabet.length]
  }).join('')
}

const ALNUM = 'aB3dEf7hIj1LmN0pQrS5uVwX9zYc2G4k6T8o'
const HEX = '0123456789abcdef'
const a = (length: number, seed?: number) => spread(ALNUM, length, seed)
const h = (length: number, seed?: number) => spread(HEX, length, seed)

/** No shape tells any of them. */
export const KNOWN: readonly string[] = [
  'Xq7vB2mN9sK4pR1t',
  'zu8Lk2pQ',
  'correct-horse-battery-staple',
  'p$ss"w\\rd&42',
  'Pässwort-für-3-Leute',
  'a1b2c3d4e5f60718293a4b5c6d7e8f90',
  'q/W8+e7R=t6Y/u5I+o4P==',
  'two words and 1 number',
  `LONG${a(300, 3)}`,
  'line one 4711\nline two 4712',
]

export const SHAPED: readonly string[] = [
  `sk-${a(32)}`,
  `sk-ant-api03-${a(80)}`,
  `sk-proj-${a(60)}`,
  `sk-or-v1-${h(64)}`,
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map(start => start + a(36)),
  `github_pat_${a(22)}_${a(59)}`,
  `hf_${a(34)}`,
  `xoxb-${spread('0123456789', 12)}-${a(24)}`,
  `xoxp-${a(40)}`,
  `xapp-1-${a(40)}`,
  `SG.${a(22)}.${a(43)}`,
  'AKIAIOSFODNN7EXAMPLE',
  'ASIAQWERTYUIOPASDFGH',
  `AIza${a(35)}`,
  `ya29.${a(60)}`,
  `1//0${a(40)}`,
  `GOCSPX-${a(28)}`,
  `gsk_${a(52)}`,
  `xai-${a(80)}`,
  `tvly-dev-${a(32)}`,
  `pplx-${a(48)}`,
  `r8_${a(37)}`,
  `nvapi-${a(64)}`,
  `csk-${a(48)}`,
  `fc-${h(32)}`,
  `key-${h(32)}`,
  `sk_${h(48)}`,
  `pcsk_${a(60)}`,
  `lsv2_pt_${h(32)}_${h(10)}`,
  `glpat-${a(20)}`,
  `npm_${a(36)}`,
  `pypi-AgEIcHlwaS5vcmc${a(80)}`,
  `dckr_pat_${a(27)}`,
  `ATATT3xFfGF0${a(120)}=1A2B3C4D`,
  `sk_live_${a(24)}`,
  `rk_live_${a(24)}`,
  `whsec_${a(32)}`,
  `shpat_${h(32)}`,
  `dop_v1_${h(64)}`,
  `dapi${h(32)}`,
  `hvs.${a(90)}`,
  `tskey-auth-${a(20)}`,
  `glsa_${a(32)}_${h(8)}`,
  `figd_${a(40)}`,
  `lin_api_${a(40)}`,
  `ntn_${a(46)}`,
  `secret_${a(43)}`,
  `xkeysib-${h(64)}-${a(16)}`,
  `SK${h(32)}`,
  `eyJ${a(30)}.eyJ${a(80)}.${a(43)}`,
  `MTAx${a(20)}.${a(6)}.${a(38)}`,
  `110201543:AA${a(33)}`,
  `hooks.slack.com/services/T00000000/B00000000/${a(24)}`,
  `discord.com/api/webhooks/1234567890/${a(60)}`,
  `Authorization: Bearer ${a(30)}`,
  `Authorization: Basic ${a(24)}`,
  `"api_key": "${a(24)}"`,
  `api_key: ${a(24)}`,
  `token = "${a(24)}"`,
  `my_secret=${a(24)}`,
  `MY_TOKEN=${a(9)}`,
  `--api-key ${a(24)}`,
  `fm2_${a(60)}`,
  `sig=${a(43)}%3D`,
  `AccountKey=${a(86)}==`,
  `db_pass: ${a(16)}`,
  `postgres://joe:${a(12)}@db.example.org/x`,
  `-----BEGIN RSA PRIVATE KEY-----\n${`${a(64)}\n`.repeat(8)}-----END RSA PRIVATE KEY-----`,
]
