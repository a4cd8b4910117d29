# The numbers of checks.json, by R with lavaan; run in this folder: Rscript checks.R > checks.json
suppressMessages(library(lavaan))

number <- function(x) sprintf("%.10g", as.numeric(x))
record <- function(names, values) paste0("{", paste0("\"", names, "\": ", number(values), collapse = ", "), "}")
measured <- function(fit, lavaan_names, names) record(names, fitMeasures(fit, lavaan_names))

bow_free <- "y1 ~ x1\ny2 ~ x1\ny5 ~ y1 + x1\ny6 ~ y2 + x1\ny1 ~~ y2\ny5 ~~ y6"
fewer <- "y1 ~ x1\ny2 ~ x1\ny5 ~ y1\ny6 ~ y2\ny1 ~~ y2\ny5 ~~ y6"
rows <- read.csv("cases/s03_admg_bowfree.csv")
chain <- "b ~ a\nc ~ b\nd ~ c\ne ~ d\nb ~~ d"
factor <- "F =~ a + b + c + d + e\ne ~ d"
front <- "m ~ x\ny ~ m\nz ~ x\nx ~~ y\nz ~~ 0*y"

parts <- c()
# residuals with means, without, and from a covariance alone
with_means <- sem(bow_free, rows, fixed.x = FALSE, meanstructure = TRUE)
without <- sem(bow_free, rows, fixed.x = FALSE)
alone <- sem(bow_free, sample.cov = cov(rows), sample.nobs = nrow(rows), fixed.x = FALSE)
parts <- c(parts, paste0("\"srmr\": ", record(
  c("means", "means, left out", "no means", "covariance"),
  c(fitMeasures(with_means, "srmr"), fitMeasures(with_means, "srmr_bentler_nomean"),
    fitMeasures(without, "srmr"), fitMeasures(alone, "srmr")))))

# scaled and robust indices with missing values
lavaan_names <- c("chisq.scaled", "chisq.scaling.factor", "baseline.chisq.scaling.factor", "cfi.scaled", "tli.scaled",
                  "rmsea.scaled", "cfi.robust", "tli.robust", "rmsea.robust", "rmsea.ci.lower.robust",
                  "rmsea.ci.upper.robust")
names <- c("chi2_scaled", "scaling", "baseline_scaling", "cfi_scaled", "tli_scaled", "rmsea_scaled", "cfi_robust",
           "tli_robust", "rmsea_robust", "rmsea_robust_low", "rmsea_robust_high")
incomplete <- c()
for (case in list(c("fiml_chain", chain), c("fiml_factor", factor), c("fiml_front_door", front))) {
  data <- read.csv(paste0("cases/", case[1], ".csv"))
  fit <- sem(case[2], data, missing = "fiml", estimator = "MLR", fixed.x = FALSE, std.lv = TRUE, em.h1.tol = 1e-9,
             em.h1.iter.max = 20000)
  incomplete <- c(incomplete, paste0("\"", case[1], "\": ", measured(fit, lavaan_names, names)))
}
parts <- c(parts, paste0("\"holes\": {", paste(incomplete, collapse = ", "), "}"))

# scaled tests of nested models
large <- sem(bow_free, rows, fixed.x = FALSE, meanstructure = TRUE, estimator = "MLM")
small <- sem(fewer, rows, fixed.x = FALSE, meanstructure = TRUE, estimator = "MLM")
nested <- c()
for (method in c("satorra.bentler.2001", "satorra.bentler.2010")) {
  test <- lavTestLRT(large, small, method = method)
  nested <- c(nested, paste0("\"", method, "\": ", number(test[2, "Chisq diff"])))
}
parts <- c(parts, paste0("\"nested\": {", paste(nested, collapse = ", "), ", \"df\": ", test[2, "Df diff"], "}"))
source <- paste0("\"source\": \"R ", getRversion(), " with lavaan ", packageVersion("lavaan"), ", tests/reference/checks.R\"")
cat("{", paste(c(source, parts), collapse = ",\n "), "}\n", sep = "")
