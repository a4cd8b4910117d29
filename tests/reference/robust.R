# The numbers of robust.json, by R with lavaan and jsonlite; in this folder:  Rscript robust.R > robust.json
suppressMessages({library(lavaan); library(jsonlite)})
bow_free <- "y1 ~ x1\ny2 ~ x1\ny5 ~ y1 + x1\ny6 ~ y2 + x1\ny1 ~~ y2\ny5 ~~ y6"
models <- c(
  s03 = bow_free,
  s17 = "pmi ~ cond\nreaction ~ pmi + cond",
  cluster = bow_free,
  tied = "y1 ~ a*x1 + 0*1\ny2 ~ a*x1 + 1\ny5 ~ y1 + 1*x1\ny6 ~ y2 + x1\ny1 ~~ y2\ny5 ~~ y6",
  factor = "f =~ NA*y1 + y2 + y5 + y6\nf ~~ 1*f")
democracy <- read.csv("cases/s03_admg_bowfree.csv")
democracy$g <- rep(seq_len(15), each = 5)
mediation <- read.csv("cases/s17_mediation_simple.csv")

run <- function(name, ...) {
  data <- if (name == "s17") mediation else democracy
  given <- if (name == "cluster") list(cluster = "g") else list()
  do.call("sem", c(list(model = models[[name]], data = data, fixed.x = FALSE, meanstructure = TRUE), given, list(...)))
}
keys <- c(chi2_scaled = "chisq.scaled", scaling = "chisq.scaling.factor", pvalue_scaled = "pvalue.scaled",
          baseline_scaling = "baseline.chisq.scaling.factor", cfi_scaled = "cfi.scaled", tli_scaled = "tli.scaled",
          rmsea_scaled = "rmsea.scaled", cfi_robust = "cfi.robust", tli_robust = "tli.robust",
          rmsea_robust = "rmsea.robust", rmsea_robust_low = "rmsea.ci.lower.robust",
          rmsea_robust_high = "rmsea.ci.upper.robust")
errors <- lapply(setNames(nm = names(models)), function(name) {
  found <- parameterEstimates(run(name, estimator = "MLR"))
  found <- found[found$se > 0 & found$op != ":=", ]  # fixed parameters have none
  lapply(seq_len(nrow(found)), function(i) list(found$lhs[i], found$op[i], found$rhs[i], found$se[i]))
})
tests <- list()
for (name in c("cluster", "s03", "tied", "factor")) {
  measures <- fitMeasures(run(name, estimator = "MLR"))[keys]
  tests[[paste(name, "yuan-bentler")]] <- as.list(setNames(measures, names(keys)))
  if (name != "cluster") {
    measures <- fitMeasures(run(name, test = "satorra.bentler"))[keys]
    tests[[paste(name, "satorra-bentler")]] <- as.list(setNames(measures, names(keys)))
  }
}
source <- paste("R", getRversion(), "with lavaan", packageVersion("lavaan"), "run as a program: tests/reference/robust.R")
writeLines(toJSON(list(source = source, errors = errors, tests = tests), auto_unbox = TRUE, digits = 12))
