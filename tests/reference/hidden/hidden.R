# Models with factors, by R with lavaan and jsonlite. In this folder:  Rscript hidden.R   writes hidden.json and the rows.
suppressMessages({library(lavaan); library(jsonlite)})
write <- function(data, name) write.csv(data, paste0(name, ".csv"), row.names = FALSE)
school <- HolzingerSwineford1939[, c("school", paste0("x", 1:9))]
write(school, "schools")
write(PoliticalDemocracy, "democracy")
write(Demo.growth, "growth")

rows <- function(fit) {
  found <- parameterEstimates(fit)
  found <- found[found$op %in% c("=~", "~", "~~", "~1"), c("lhs", "op", "rhs", "est", "se")]
  std <- standardizedSolution(fit)
  std <- std[std$op %in% c("=~", "~", "~~", "~1"), c("lhs", "op", "rhs", "est.std")]
  merge(found, std, sort = FALSE)
}
errors <- function(fit) { found <- rows(fit); found[, c("lhs", "op", "rhs", "se")] }
measured <- c("npar", "chisq", "df", "pvalue", "baseline.chisq", "baseline.df", "cfi", "tli", "logl", "unrestricted.logl",
              "aic", "bic", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "srmr", "srmr_bentler_nomean")
everything <- function(text, data, call = sem, ...) {
  fit <- call(text, data, fixed.x = FALSE, meanstructure = TRUE, ...)
  other <- function(...) call(text, data, fixed.x = FALSE, meanstructure = TRUE, ...)
  indices <- modindices(fit, sort. = TRUE)
  list(n = nobs(fit), fit = as.list(fitMeasures(fit, measured)), parameters = rows(fit),
       observed = errors(other(information = "observed", ...)), robust = errors(other(estimator = "MLR", ...)),
       scaled = as.list(fitMeasures(other(estimator = "MLR", ...), c("chisq.scaled", "chisq.scaling.factor"))),
       satorra = as.list(fitMeasures(other(estimator = "MLM", ...), c("chisq.scaled", "chisq.scaling.factor"))),
       r2 = as.list(lavInspect(fit, "rsquare")),
       indices = indices[indices$mi > 0.01, c("lhs", "op", "rhs", "mi", "epc")],
       scores = list(regression = head(lavPredict(fit, method = "regression"), 3),
                     bartlett = head(lavPredict(fit, method = "Bartlett"), 3)))
}
cfa3 <- "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
democracy <- "ind60 =~ x1 + x2 + x3\ndem60 =~ y1 + y2 + y3 + y4\ndem65 =~ y5 + y6 + y7 + y8
dem60 ~ ind60\ndem65 ~ ind60 + dem60
y1 ~~ y5\ny2 ~~ y4 + y6\ny3 ~~ y7\ny4 ~~ y8\ny6 ~~ y8"
curve <- "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4\ni ~ x1 + x2\ns ~ x1 + x2
t1 ~ c1\nt2 ~ c2\nt3 ~ c3\nt4 ~ c4\nx1 + x2 + c1 + c2 + c3 + c4 ~ 1"
out <- list(tool = list(name = "lavaan", version = as.character(packageVersion("lavaan")),
                        R = paste(R.version$major, R.version$minor, sep = ".")),
            schools = everything(cfa3, school), schools_unit = everything(cfa3, school, std.lv = TRUE),
            second_order = everything(paste0(cfa3, "\ng =~ visual + textual + speed"), school),
            democracy = everything(democracy, PoliticalDemocracy),
            growth = everything(curve, Demo.growth, call = growth))

holes <- school
set.seed(1)
for (v in paste0("x", 1:9)) holes[[v]][runif(nrow(holes)) < 0.15] <- NA
write(holes, "schools_holes")
holes <- read.csv("schools_holes.csv")
fit <- cfa(cfa3, holes, missing = "fiml")
out$holes <- list(fit = as.list(fitMeasures(fit, measured)), parameters = rows(fit))

levels <- list(configural = "", metric = "loadings", scalar = c("loadings", "intercepts"),
               strict = c("loadings", "intercepts", "residuals"))
out$invariance <- lapply(levels, function(equal) {
  fit <- cfa(cfa3, school, group = "school", group.equal = equal)
  as.list(fitMeasures(fit, c("npar", "chisq", "df", "cfi", "rmsea", "logl", "bic")))
})
writeLines(toJSON(out, digits = 10, auto_unbox = TRUE, na = "null"), "hidden.json")
